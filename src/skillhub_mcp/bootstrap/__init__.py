"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations.

http         the options of a server over HTTP: who may call it, from where, and how much
hub          the hub over directories, or over a publication
library      the skills that the settings choose, those that are here and not searched, and what a project brings
models       the models that the settings choose: for embeddings, and for reordering hits
observers    what is observed of a hub, and what its log says
places       what is kept beside the index, and the person's file of reviews
policy       who may have what: rules, choices, the audit and locks, and what is wrong with those
publication  the storage of a publication, and what of the library is published there
server       the options of a server over a hub, over stdio and HTTP alike
"""
