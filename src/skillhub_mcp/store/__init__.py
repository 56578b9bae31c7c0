"""A team's library as a LanceDB database: published to a directory or a bucket, and served from there by replicas.

targets       where a publication is stored, and its objects
library       what of a library is published, under which keys
tables        the three tables: `files`, `skills` and `publications`
publish       writes what changed; the newest row of `publications` is the commit
mirror        one publication on this machine, checked by its digests
replica       serves the newest publication from the mirror, and polls for another
"""
