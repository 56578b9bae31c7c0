"""What people and models are shown of the skills, and how many tokens that costs.

card              the part of the server's instructions that describes skills, and a list beside it
catalogue         all skills within a budget, in several formats
context/          the agent-context tools: catalogue, search, loading, inspection
empty_result      why a list or a search is empty
hits              what a model is shown of a search's hits
ledger            what a session was shown
listing           lists of skills with their availability, and how many are served, off, shadowed and so on
lookup            the skill that a caller names, and whether the caller may use it
mentions          `$name` and paths in a text
project_skills    the skills of a project, for the question whether to trust it
reader            the instructions and files of a skill, for a caller
registry_json     the registry's index as JSON
skill_loaded      the `<skill-loaded>` message
why               why a skill is served or not, and what decides
"""
