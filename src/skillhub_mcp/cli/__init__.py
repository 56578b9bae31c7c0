"""The shell: parsing of command lines, and what commands print. Each command is a module in `commands/`.

arguments          options that several commands share, and usage errors
checks/            the checks of `doctor`, one module each
client_changes     changes of clients' files shown, asked about, carried out and reported
client_link        the link that has a client offer to add the server
client_options     what the options of `connect` and `disconnect` mean
client_parser      the options that `connect` and `disconnect` share
clipboard          copying to the clipboard
colours            colours on a terminal
comparing          installed skills beside their sources
completion         the scripts by which shells complete the command line
completion_words   the names of skills and of recorded roots, for those scripts
connecting         the work of `connect`
disconnecting      the work of `disconnect`
editor             the editor of the person
ending             a command that is told to end does so in order
explanations       what `why` explains, as text and as JSON values
findings           the findings of `validate` and `audit` as text
foreign_words      what to type instead of a word that people know from other tools
forgetting         `skillhub index --forget`: rows of roots that nobody here uses
help_page          the commands by group, on one screen or all of them
installed_command  the distribution that the `skillhub-mcp` command on PATH belongs to
installing         skills shown before they come in, the question, and what is said afterwards
library_place      which root a command keeps, its lock, and the option that chooses it
log_format         the log on stderr, as text or JSON lines
main               the entry point: runs the command and turns failures into messages and exit codes
named_directories  the directories of a library that a person names
next_steps         the commands to type next on this machine
new_skill_report   what `new` tells of the skill that it wrote
open_hub           the hub for a command, from its options and the environment
output             results on stdout, everything else on stderr; skill text made safe for a terminal
own_terminal       the terminal that a person sits at, whatever stdin and stdout are
pager              long output through the person's pager, on a terminal
picker             the picker on a terminal (Textual)
picker_keys        the keys of the picker
picker_rows        the rows of the picker: which fit what was typed, in which order
picker_skills      the skills of the picker, read and searched in a thread of their own
progress_line      the progress of long work on stderr, on a terminal
refreshed_index    the index after a command that changed a root
replica_note       what a replica serves, for commands about the skills of this machine
screen             the size of the terminal
source_options     how a command that installs skills opens a source
table              lists in columns
text_width         the columns that a text takes
told_settings      the settings of a command, with a note for each that is invalid and has its default
"""
