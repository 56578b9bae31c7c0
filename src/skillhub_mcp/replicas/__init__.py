"""Read-only replicas: a publication served from a local mirror of it, without a skills directory and without LanceDB.

copies      the files of a skill as a directory, made when somebody reads them
generation  what one snapshot of a publication holds: a view, and where each skill's files are
health      how the storage does: told in the log once for each change, in /readyz and in metrics
mirror      the local copy of what is needed of a publication
replica     which snapshot is served, and looking for another
"""
