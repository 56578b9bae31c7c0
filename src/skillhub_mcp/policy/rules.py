"""May this be done with this skill? Rules as seed 000 §8.1 has them: deny beats allow beats confirm. Pure.

Rule 1: what is not understood is refused, so that a rule never means more than was written.
Rule 2: a denial reaches further than its tool: what may not be loaded may not be read or run either.
Rule 3: leave to load is leave to read the skill's files, and never leave to run its commands.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from skillhub_mcp.skills.names import is_specified_name


class Action(str, Enum):
    """What is done with one skill. The value is the tool that a remembered rule names."""

    LOAD = "skill_load"
    READ = "read_skill_file"
    RUN = "run_skill_command"


class Decision(Enum):
    """What the rules say of an act."""

    DENY = "deny"
    ALLOW = "allow"
    CONFIRM = "confirm"


LOADING_TOOLS = ("skill_load", "load_skill", "Skill")
SKILL_TOOLS = (*LOADING_TOOLS, Action.READ.value, Action.RUN.value)
OTHER_TOOLS = (
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
)
_LISTS = ("deny", "allow", "confirm")

_DENYING = {
    Action.LOAD: frozenset(LOADING_TOOLS),
    Action.READ: frozenset((*LOADING_TOOLS, Action.READ.value)),
    Action.RUN: frozenset((*LOADING_TOOLS, Action.RUN.value)),
}
_ALLOWING = {
    Action.LOAD: frozenset(LOADING_TOOLS),
    Action.READ: frozenset((*LOADING_TOOLS, Action.READ.value)),
    Action.RUN: frozenset((Action.RUN.value,)),
}


class BadRules(ValueError):
    """Rules that cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A tool, and the one skill that it is about; without a name it is about every skill."""

    tool: str
    skill_name: str | None = None

    def binds(self, tools: Collection[str], names: Collection[str]) -> bool:
        """Whether the rule is about one of `tools`, for a skill that goes by `names`."""
        return self.tool in tools and (self.skill_name is None or self.skill_name in names)

    def as_json(self) -> dict[str, str]:
        """Return the rule as a file holds it."""
        return {"tool": self.tool} | ({} if self.skill_name is None else {"skill_name": self.skill_name})


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force. Where there are none at all everything is allowed (DECISIONS 25)."""

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    confirm: tuple[PermissionRule, ...] = ()
    in_force: bool = field(default=True, kw_only=True)

    def verdict(self, act: Action, names: Collection[str]) -> Decision:
        """Return what the rules say of doing `act` with the skill that goes by `names`."""
        if not self.in_force:
            return Decision.ALLOW
        if any(rule.binds(_DENYING[act], names) for rule in self.deny):
            return Decision.DENY
        if any(rule.binds(_ALLOWING[act], names) for rule in self.allow):
            return Decision.ALLOW
        return Decision.CONFIRM

    def denies_tool(self, tool: str) -> bool:
        """Whether `tool` may not be called at all, whatever for."""
        return any(rule.tool == tool and rule.skill_name is None for rule in self.deny)


NO_RULES = Rules(in_force=False)


def parse_rules(text: str) -> Rules:
    """Return the rules of a file `{"permissions": {"deny": [...], "allow": [...]}}`. Raises BadRules."""
    try:
        written = json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise BadRules(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadRules("it is nested too deeply") from error
    if not isinstance(written, dict) or not isinstance(written.get("permissions"), dict):
        raise BadRules('it must be an object with the key "permissions", which is an object')
    lists = written["permissions"]
    unknown = sorted(set(lists) - set(_LISTS))
    if unknown:
        raise BadRules(f"permissions.{unknown[0]} is not one of {', '.join(_LISTS)}")
    deny, allow, confirm = (_rules(name, lists.get(name, [])) for name in _LISTS)
    return Rules(deny, allow, confirm)


def combined(own: Sequence[Rules], foreign: Sequence[Rules]) -> Rules:
    """Return one set of rules: all of the person's `own`, and of `foreign` ones what narrows them.

    Foreign rules come with a project, whose author may be anybody: what they allow counts only where the person has
    no rules at all.
    """
    if not own and not foreign:
        return NO_RULES
    every = (*own, *foreign)
    return Rules(
        deny=tuple(rule for rules in every for rule in rules.deny),
        allow=tuple(rule for rules in (own or foreign) for rule in rules.allow),
        confirm=tuple(rule for rules in every for rule in rules.confirm),
    )


def _rules(name: str, written: object) -> tuple[PermissionRule, ...]:
    if not isinstance(written, list):
        raise BadRules(f"permissions.{name} must be a list")
    return tuple(_rule(f"permissions.{name}[{number}]", rule) for number, rule in enumerate(written))


def _rule(place: str, written: object) -> PermissionRule:
    if not isinstance(written, Mapping) or not isinstance(written.get("tool"), str):
        raise BadRules(f'{place} must be an object with a "tool"')
    unknown = sorted(set(written) - {"tool", "skill_name"})
    if unknown:
        raise BadRules(f"{place} has {unknown[0]!r}, which is not known; nothing narrows a rule but skill_name")
    tool = written["tool"]
    if tool not in (*SKILL_TOOLS, *OTHER_TOOLS):
        raise BadRules(f"{place}: {tool!r} is not a tool of this hub")
    if "skill_name" not in written:
        return PermissionRule(tool)
    name = written["skill_name"]
    if not isinstance(name, str) or not is_specified_name(name):
        raise BadRules(f"{place}: skill_name must be one exact name in lower-case kebab-case, not {name!r}")
    if tool not in SKILL_TOOLS:
        raise BadRules(f"{place}: {tool} is about no single skill, and takes no skill_name")
    return PermissionRule(tool, name)


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        # JSON lets the last one win in silence, and with it a list of denials disappear.
        raise BadRules(f"the key {repeated!r} stands there twice")
    return dict(pairs)
