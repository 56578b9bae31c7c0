"""Where skills come from: what a person types for it, and a source as a tree of entries.

directory_tree  a directory as a tree
download        fetching over HTTP, within bounds
git             running git for one source, within bounds and without a checkout
git_tree        which ref is meant, its commit as a tree, and who signed it
opening         a source as a tree, of whichever kind it is
source          what a person types for a source, its canonical form, and its form in a lock
upstream        what the sources of installed skills have now
web_source      a site as a tree: an archive, a SKILL.md, or the skills of its index
well_known      the index of a site's skills, draft 0.2.0
"""
