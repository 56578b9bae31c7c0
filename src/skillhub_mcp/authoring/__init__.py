"""New skills: what their files say, and writing them.

draft  the text of a new skill's files
files  the files of the examples, and writing those of a new skill
"""
