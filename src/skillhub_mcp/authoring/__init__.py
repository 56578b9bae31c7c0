"""New skills: what their files say, and writing them.

draft  what the files of a skill say that somebody is about to write
files  the files of the examples, and writing those of a new skill
"""
