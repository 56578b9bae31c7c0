"""The composition root: builds the hub, the server and their parts from `Settings`, and chooses implementations.

hub      the hub over directories or over a publication, its models and observers, and what is published
library  the places, registries, rules, audit and locks that the settings choose, and problems with them
server   the options of a server over a hub, over stdio and over HTTP, and its log
"""
