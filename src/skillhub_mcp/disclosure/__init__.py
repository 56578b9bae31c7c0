"""Disclosure: what people and models are shown of the skills, and how many tokens that costs.

absence           why a list or a search has nothing to show
brought           what a project brings, as its person is shown it before they agree
card              the card: the part of the server's instructions that describes skills
catalogue         all skills within a budget, in several formats
counts            how many skills are served, off, shadowed and so on: one sentence everywhere
context/          the agent-context tools: catalogue, search, loading, inspection
domains           the domain of each skill, for the card's map
hits              what a model is shown of a search's hits
ledger            what a session was shown
listing           lists of skills with their availability
lookup            the skill that a caller names, and whether the caller may use it
mentions          `$name` and paths in a text
project_match     skills that fit the files at a project's root
reader            the instructions and files of a skill, for a caller
registry_json     the registry's index as JSON
shared_room       two lists of skills, or a list and the card, in one budget of bytes
skill_loaded      the `<skill-loaded>` message
token_estimate    estimates of tokens
why               why a skill is served or not, and what decides
"""
