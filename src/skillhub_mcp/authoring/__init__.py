"""New skills: what their files say, and writing them.

draft       the files of a skill that somebody is about to write
examples    the skills that come with SkillHub, to start from
new_skill   writing the files of a new skill into a directory of its own
"""
