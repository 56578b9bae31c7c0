"""What was installed, and whether the files are still that. Commands and a serving hub read it; nothing is fetched.

content_digest  the digest of a skill's files, the same as other tools'
file_digests    the digests of files, kept as long as the files are unchanged
foreign         where skills came from by the records of other programs
lock_file       `skills-lock.json`, shared with npx skills
lock_schema     what each field of the lock means, and its JSON Schema
lock_verifier   the locks of what is served, and whether each skill is as its lock says
npx_hash        the hash that npx skills puts into the lock
plain_files     small files of a root read, regular ones alone, and locks
states          a skill held against the lock: unchanged, edited or unlocked
"""
