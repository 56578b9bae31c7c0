"""A team's library as a LanceDB database: published to a directory or a bucket, and served from there by replicas.

targets       where a publication may lie, and what is in the way there
objects       the objects of a publication as files: list them and read them; a directory or a bucket
records       one publication as a value: its number, what it is of, and the objects that a reader needs
library       what of a library is published, under which keys
contents      the files of a skill, within bounds
tables        the three tables: `files`, `skills` and `publications`
publish       writes what changed; the newest row of `publications` is the commit
mirror        the objects of one publication on this machine, checked by their digests
skill_files   the files of a skill as a directory, made from the mirror
replica       serves the newest publication from the mirror, and looks for another
"""
