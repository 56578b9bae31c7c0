"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations.

hub        the hub over directories or over a publication, its models, and what is published
library    the places and registries that the settings choose, a project's skills, files beside the index
observers  the observers of a hub, and its log
policy     rules, choices, the audit and locks, and problems with them
server     the options of a server over a hub, over stdio and over HTTP
"""
