"""The lock file, and whether a skill is as it was locked. Commands and a serving hub use it; nothing is fetched.

file_digests   the digests of files, and comparing them with an entry of the lock
lock_file      `skills-lock.json`, shared with npx skills, and its JSON Schema
lock_verifier  the locks of what is served, and whether each skill is as its lock says
"""
