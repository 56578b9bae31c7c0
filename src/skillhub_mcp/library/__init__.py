"""A library that is kept: skills come in from a source, stay current, and stay what they were.

Nothing here runs but in a command that a person typed, and it reaches only the source that the command names.

archive_entries  the entries of one archive, each judged when it is found
archive_tree     an archive as a tree
bounds           how much is fetched, read and unpacked at most
candidates       the skills that a source holds, before any of it is written
directory_tree   a directory of this machine as a tree
disk             the steps of a change on the disk, each done or not
download         fetching over HTTP, within bounds
entry_rules      which paths of entries are refused, and why
exchange         two paths exchanged in one step, by the system's own call
fingerprint      what lies in a directory: its digest, and every difference
forges           which repository, ref and path a page of a forge shows
frozen           exactly what a lock says, at the commit that it names, or nothing
git              running git for one source, within bounds and without a checkout
git_refs         which ref of a repository is meant, and where it ends within a page's path
git_tree         a commit of a repository, as a tree
install          skills unpacked, looked at, planned, and brought into a root, all or none
journal          what a change does, written before it is done
locked_source    a source in the fields of a lock, and back
locking          one command at a time changes a root
locking_present  locking what is there already, as it is or as what a source has
looking          what the specification and the audit say of a skill before it is in, and what is new in it
marketplace      where a manifest of plugins says that skills are
opening          a source as a tree, of whichever kind it is
own_places       where the hub's own things in a root are
plain_files      small files of a root read, regular ones alone
plan             what an installation would do: whose a name is, whose edits stay, what looks like another
recovery         what a killed command left, completed or taken back
refusals         what a person is told where a root cannot be written
removal          skills into the trash, and the last removal back
signatures       who signed a commit or a tag, verified by git itself
skill_files      which files one skill of a tree comes to, its links as copies
source           what a person types for a source, and its canonical form
steps            each step of a change: doing it, and taking it back
tar_archive      reading a tar in the one way that every reader reads it
transaction      a change of a root: all skills, or none
trash            what was removed and replaced, and how much of it is kept
tree             what a source holds at one moment: entries, their bytes, and where they come from
unpack           one skill of a tree written below a directory, whole or not at all
upstream         what the sources of installed skills have now
verifying        the files of a library held against its lock
web_source       a site: an archive or a SKILL.md by its content, else its index of skills
web_tree         what a site gave, as a tree
well_known       the index of a site's skills, draft 0.2.0
zip_archive      reading a zip in the one way that every reader reads it
"""
