"""What each MCP tool does with a skill. Not in `server`, as importing that configures FastMCP."""

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
        "agents_read",
    ),
)

# The answers of these tools depend on what their session was shown before, or on what its user agreed to.
SESSION_TOOLS = (
    "load_skill",
    "read_skill_file",
    "skill_load",
    "context_inspect",
    "agents_context",
    "agents_resolve",
    "agents_resume_diff",
    "agents_read",
    "Skill",
    "run_skill_command",
)
