"""The facts of every tool that a server can register: what it does with a skill, and whether sessions matter to it.

Imports neither FastMCP nor MCP: the shell needs these facts without a server.
"""

from __future__ import annotations

from skillhub_mcp.policy.tool_actions import ToolActions

TOOL_ACTIONS = ToolActions(
    load=("skill_load", "load_skill", "Skill"),
    read=("read_skill_file",),
    run=("run_skill_command",),
    other=(
        "search_skills",
        "skill_search",
        "skills_list",
        "context_inspect",
        "build_index",
        "refresh_index",
        "available_skills",
        "agents_context",
        "agents_resolve",
        "agents_resume_diff",
    ),
)

# The answers of these tools depend on what their session was shown before.
SESSION_TOOLS = ("skill_load", "context_inspect", "agents_context", "agents_resolve", "agents_resume_diff")
