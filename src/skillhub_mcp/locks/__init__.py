"""What was installed, and whether the files are still that. Commands and a serving hub read it; nothing is fetched.

content_digest  the digest of a skill's files, the same as other tools'
"""
