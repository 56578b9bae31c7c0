"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations.

hub        the hub over directories or over a publication, its models, and what is published
library    the skills that the settings choose, what a project brings, and what is kept beside the index
observers  what is observed of a hub, and what its log says
policy     who may have what: rules, choices, the audit and locks, and what is wrong with those
server     the options of a server over a hub, over stdio and over HTTP
"""
