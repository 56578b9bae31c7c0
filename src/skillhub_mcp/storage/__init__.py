"""Publications: a library with its files and its index in a directory or a bucket, for servers without skills.

`docs/reference/publication.md` describes what lies there. (What hosts read natively, by SEP-2640, is `publishing`.)

bucket_store     objects in a bucket: s3://, gs://, az://
commit           changing the commit pointer
directory_store  objects in a directory
manifest         what a publication says of itself: the pointer, a snapshot, its shards of skills
object_store     what is asked of a store
reading          reading a publication, verified
targets          which store a target names
"""
