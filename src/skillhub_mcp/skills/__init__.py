"""Skills on disk: finding, parsing and naming them. Independent of search and of MCP.

admission         which violations make a reader refuse a skill
digest            one value for all files of a skill, which an approval is bound to
discovery         finding SKILL.md files below the roots
files/            reading and listing a skill's files
frontmatter       SKILL.md bytes to frontmatter, body and diagnostics
loader            a skill's SKILL.md in full, and `SkillLoader` for Python programs
model             the values: skill, file stamp, problem
name_resolution   which skill a name refers to, for one caller
names             comparison of names, the specification's form, safe aliases, similar names
parser            frontmatter to a `Skill`
places            what may be a root, where clients keep skills, how many each has, and why one is not searched
plugins           the plugins of clients: where their skills are, and which are switched on
registry          the registry: an index by name and source, with a report
repairs           the known keys of a frontmatter, and repairs of one that YAML refuses
roots             the directories to search, in order of precedence, with their sources
rules             the table of rules for a SKILL.md
scanner           one scan: walk the roots, read changed files
snapshot          the skills at one moment, and which of two gets a name
selectors         what rules and filters may name: a skill, a glob, or a group
"""
