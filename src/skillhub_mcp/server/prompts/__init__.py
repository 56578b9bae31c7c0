"""MCP prompts.

completion      completion of names and files
provider        one prompt for each skill that people can invoke
session_prompt  the prompt `session_context`: AGENTS.md and the catalogue
"""
