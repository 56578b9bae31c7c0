"""A library that is kept: skills come in from a source, stay current, and stay what they were.

Nothing here runs but in a command that a person typed, and it reaches only the source that the command names.

archives         zip and tar archives as trees, with every entry checked
bounds           how much is fetched, read and unpacked at most
candidates       the skills that a source holds, before any of it is written
change           a change of a root: staged, moved into place, then locked
entry_rules      which paths of entries are refused, and why
frozen           exactly what a lock says, at the commit that it names, or nothing
inspection       what the specification and the audit say of a skill before it is installed
install          skills unpacked, looked at, planned, and brought into a root
locking_present  locking what is there already
marketplace      where a manifest of plugins says that skills are
places           the hub's own directory in a root, and creating it
plan             what an installation would do: whose a name is, whose files stay, which names look alike
removal          skills into the trash, and the last removal back
sources/         where skills come from: what is typed, and a source as a tree of entries
tree             what a source holds at one moment: entries, their bytes, and where they come from
trash            what was removed and replaced, and how much of it is kept
unpack           which files one skill of a tree comes to, and writing them, whole or not at all
verifying        the files of a library held against its lock
"""
