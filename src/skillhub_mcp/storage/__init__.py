"""Publications: a library with its files and its index in a directory or a bucket, for servers without skills.

`docs/publication.md` describes what lies there. (What hosts read natively, by SEP-2640, is `publishing`.)

bucket_store     objects in a bucket: s3://, gs://, az://
commit           changing the commit pointer
contents         the files of a skill, read within bounds
directory_store  objects in a directory
index_files      the files of the index: segments and statistics by key
lance_rows       the LanceDB table of a publication
lease            one publisher at a time
library          what is published: which skills, by which keys
locked_copy      whether what is copied of a locked skill is what its lock says
manifest         what a publication says of itself: the pointer, a snapshot, its shards of skills
object_store     what is asked of a store
packing          putting files into packs
publish          one publication, from what differs to the commit
reading          reading a publication, verified
retention        which snapshots are kept, and removing what none of them needs
targets          which store a target names
"""
