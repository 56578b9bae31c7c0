"""What each MCP tool does with a skill: load it, read its files, run its commands, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Action(str, Enum):
    """What is done with one skill."""

    LOAD = "load"
    READ = "read"
    RUN = "run"


TOOLS: Mapping[Action, tuple[str, ...]] = {
    Action.LOAD: ("skill_load", "load_skill", "Skill"),
    Action.READ: ("read_skill_file",),
    Action.RUN: ("run_skill_command",),
}
"""The tools by what they do; a new rule names the first."""

_OTHERS = (
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
)

TOOL_ACTIONS: Mapping[str, Action | None] = {
    **{tool: action for action, tools in TOOLS.items() for tool in tools},
    **dict.fromkeys(_OTHERS),
}
"""The action of every tool; None for one that concerns no single skill."""

DENYING: Mapping[Action, frozenset[str]] = {
    action: frozenset((*TOOLS[Action.LOAD], *tools)) for action, tools in TOOLS.items()
}
"""The tools whose denial denies an action: a skill that must not be loaded is not read or run either."""

ALLOWING: Mapping[Action, frozenset[str]] = {**DENYING, Action.RUN: frozenset(TOOLS[Action.RUN])}
"""The tools whose permission permits an action: to load a skill includes its files, not its commands."""

# The answers of these tools depend on what their session was shown before, or on the consent of its user.
SESSION_TOOLS = (
    *(tool for tools in TOOLS.values() for tool in tools),
    *("context_inspect", "agents_context", "agents_resolve", "agents_resume_diff", "agents_read"),
)


def skills_named_in(arguments: Mapping[str, object]) -> list[str]:
    """Return the texts by which the arguments of a tool call name a skill, the one that decides first."""
    named = (arguments.get(key) for key in ("skill_name", "skill", "path", "name"))
    return [text for text in named if isinstance(text, str) and text]


def rule_tool(action: Action) -> str:
    """Return the tool that a new rule about `action` names."""
    return TOOLS[action][0]
