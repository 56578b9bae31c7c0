"""A library that is kept: skills come in from a source, stay current, and stay what they were.

Nothing here runs but in a command that a person typed, and it reaches only the source that the command names.

tree  what a source holds at one moment: entries, their bytes, and where they come from
"""
