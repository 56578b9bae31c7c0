"""Where skills come from: what a person types for it, and a source as a tree of entries.

directory_tree  a directory of this machine as a tree
download        fetching over HTTP, within bounds
git             running git for one source, within bounds and without a checkout
git_refs        which ref of a repository is meant, and where it ends within a page's path
git_tree        a commit of a repository, as a tree
locked_source   a source in the fields of a lock, and back
opening         a source as a tree, of whichever kind it is
signatures      who signed a commit or a tag, verified by git itself
source          what a person types for a source, and its canonical form
upstream        what the sources of installed skills have now
web_source      a site: an archive or a SKILL.md by its content, else its index of skills
well_known      the index of a site's skills, draft 0.2.0
"""
