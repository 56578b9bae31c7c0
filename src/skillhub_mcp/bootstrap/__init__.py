"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations.

commands     running commands of skills: the allow list, the limits and the sandbox
http         the options of a server over HTTP: who may call it, from where, and how much
hub          the hub over directories, or over a publication
library      the skills that the settings choose, those that are here and not searched, and what a project brings
models       the models that the settings choose: for embeddings, and for reordering hits
observers    what is observed of a hub, and what the log tells of its library
places       what is kept beside the index, and where the person's own files are
policy       who may have what: rules, choices, the audit and locks, and what is wrong with those
publication  the storage of a publication, and what of the library is published there
server       the options of a server over a hub, over stdio and HTTP alike
"""
