"""Published entries, for hosts that read skills natively (SEP-2640). Independent of the protocol.

artifacts      what others install of a skill, and which skills they may have
entries        the entry of a skill: frontmatter, and each file with size and digest
normalization  a SKILL.md in the specification's form, where it breaks a rule
portable_yaml  frontmatter as JSON that every YAML parser agrees on
publisher      lists, entries (kept in memory) and files by URI
uris           `skill://` URIs
"""
