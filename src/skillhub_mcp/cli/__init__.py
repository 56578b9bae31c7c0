"""The shell: parsing of command lines, and what commands print. Each command is a module in `commands/`.

arguments          the parser, options that several commands share, and usage errors
completion_words   the names of skills, for the scripts of shells
console            drawing on a terminal with rich: text, tables, Markdown, progress and questions
found_skills       skills on this machine that are not served, and recording them
findings           the findings of `validate` and `audit` as text
installing         skills shown before they are installed, the question, and the report
library_place      the root that a command changes, its lock, and its index afterwards
log_format         the log on stderr, as text or JSON lines
main               the entry point: runs the command and turns failures into messages and exit codes
open_hub           the hub for a command, from its options and the environment
output             results on stdout, everything else on stderr, as text or JSON
renames            what to type instead of a name that is gone or known from another tool
"""
