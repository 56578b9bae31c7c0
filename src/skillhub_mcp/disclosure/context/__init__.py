"""The agent-context tools (set `context`), on top of the hub's own scan.

catalogue      one catalogue for each working directory
inspection     the report of `context_inspect`
loader         loading by path or name, as `<skill_context>`
schema         the types of parameters and results, and their JSON Schema
tiered_search  the search: exact path, exact name, prefix, shared words
"""
