"""The sets of tools. A tool returns the hub's answer in MCP's form; it decides nothing and catches nothing.

agents        the AGENTS.md tools (set `agents`)
context       the agent-context tools (set `context`)
core          search_skills, load_skill, read_skill_file
registration  the table of tools with their descriptions and annotations
registry      the registry's tools (set `registry`)
results       results as JSON
run           run_skill_command, and the tool `Skill` (set `skill`)
"""
