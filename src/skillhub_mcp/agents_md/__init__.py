"""AGENTS.md: the files that apply at the start of a session, and later for further paths.

chain      the AGENTS.md from the project's root down to the working directory, within limits
files      finding and reading one AGENTS.md, without leaving the project
known      what one session knows: covered directories and versions of files
reminders  the first block, and the reminders of paths and changes
resolver   one working directory: its first block, and which files a later path adds
schema     configuration, results and a session's state
session    one session, with a resolver for each working directory, and saved states
"""
