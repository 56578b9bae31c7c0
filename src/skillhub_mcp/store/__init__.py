"""A team's library as a LanceDB database: published to a directory or a bucket, and served from there by replicas.

tables    the three tables: `files`, `skills` and `publications`
publish   what of a library is published; writes what changed, and the newest row of `publications` is the commit
replica   serves the newest publication from a mirror on this machine, and polls for another
"""
