"""Adding, updating, verifying and removing skills. Only commands use it; it reaches only the source that one names.

archives      zip and tar archives as trees, with every entry checked
candidates    the skills that a source holds, by its directories and plugin manifests
change        a change of a root: staged, moved into place, then locked
inspection    what the specification and the audit say of a skill before it is installed
install       skills unpacked, inspected, planned, and installed; restoring exactly what a lock says
places        the hub's own directory in a root, and its trash
plan          what an installation would do: names, files that stay, names that look alike
removal       skills into the trash, and the last removal back
sources/      where skills come from
tree          what a source holds at one moment, and the bounds
unpack        the files of one skill of a tree, which paths are refused, and writing them
verifying     comparing a root with its lock, and locking what is there
"""
