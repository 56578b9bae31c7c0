"""The agent-context tools (set `context`): `skill_search`, `skill_load`, `skills_list`, `context_inspect`.

They show the skills of `.agents/skills` in the project and the user's home, in a format that agents with these tools
already know, on top of the hub's own scan and policy.

catalogue      one catalogue for each working directory
loader         loading by path or name, as `<skill_context>`
schema         the types of parameters and results, and their JSON Schema
tiered_search  the search: exact path, exact name, prefix, shared words
"""
