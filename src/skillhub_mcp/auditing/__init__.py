"""The audit: hostile content in skills, found before it is served. `skillhub audit` and `SKILLHUB_AUDIT`.

Detectors are pure functions over texts, frontmatter and entries of a directory. Only `reading` opens a skill's files.

audit         all findings of one skill, worst first
auditor       what a hub knows of its skills, and when it looks again
characters    invisible, reordering and look-alike characters
citations     whether a text gives an order or cites one
concealed     comments, invisible elements and encoded texts, decoded
entries       links, hard links, binaries and hidden scripts
header        tools, hooks and descriptions of a frontmatter
kept          what was found before, in a file beside the index
matching      finding the table's patterns in bounded time
names         look-alike and near names
reading       a skill's files within bounds
rules         the table of rules with their patterns, severities, and what a finding is
text          a text as detectors see it
"""
