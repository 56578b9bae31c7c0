"""Reading and listing a skill's files, confined to the skill's directory and to byte budgets.

confinement  opening a file component by component, so that a concurrent rename or relink cannot lead out
content      reading one chunk, or the whole file
listing      the list of readable files
paths        checks of a requested path, before the file system is accessed
"""
