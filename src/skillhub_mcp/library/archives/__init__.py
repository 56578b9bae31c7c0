"""Archives as trees: each read in the one way that every reader reads it, or refused.

archive_entries  the entries of one archive, each judged when it is found
archive_tree     an archive as a tree
tar_archive      reading a tar in the one way that every reader reads it
zip_archive      reading a zip in the one way that every reader reads it
"""
