"""Rules that deny or allow actions on skills, or require confirmation: deny beats allow beats confirm. Pure.

Rule 1: a file that is not understood is refused, so that a rule never permits more than was written.
Rule 2: denying one action also denies those that depend on it: a skill that must not be loaded is not read or run.
Rule 3: permission to load includes the skill's files, and never its commands.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from skillhub_mcp.policy.tool_actions import Action, ToolActions
from skillhub_mcp.skills.names import is_specified_name


class Decision(Enum):
    """What the rules decide about an action."""

    DENY = "deny"
    ALLOW = "allow"
    CONFIRM = "confirm"


_LISTS = ("deny", "allow", "confirm")


class BadRules(ValueError):
    """Rules that cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A tool, and the one skill that the rule applies to; without a name it applies to every skill."""

    tool: str
    skill_name: str | None = None

    def applies_to(self, tools: Collection[str], names: Collection[str]) -> bool:
        """Whether the rule is about one of `tools`, for a skill that goes by `names`."""
        return self.tool in tools and (self.skill_name is None or self.skill_name in names)

    def as_json(self) -> dict[str, str]:
        """Return the rule as a file holds it."""
        return {"tool": self.tool} | ({} if self.skill_name is None else {"skill_name": self.skill_name})


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force. Without any rules at all, everything is allowed."""

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    confirm: tuple[PermissionRule, ...] = ()
    in_force: bool = field(default=True, kw_only=True)

    def decide(self, action: Action, names: Collection[str], *, tools: ToolActions) -> Decision:
        """Return what the rules decide about `action` on the skill that goes by `names`."""
        if not self.in_force:
            return Decision.ALLOW
        if any(rule.applies_to(tools.denying(action), names) for rule in self.deny):
            return Decision.DENY
        if any(rule.applies_to(tools.allowing(action), names) for rule in self.allow):
            return Decision.ALLOW
        return Decision.CONFIRM

    def denies_tool(self, tool: str) -> bool:
        """Whether `tool` may not be called at all, for any skill."""
        return any(rule.tool == tool and rule.skill_name is None for rule in self.deny)


NO_RULES = Rules(in_force=False)


def parse_rules(text: str, tools: ToolActions) -> Rules:
    """Return the rules of a file `{"permissions": {"deny": [...], "allow": [...]}}` about `tools`. Raises BadRules."""
    try:
        content = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise BadRules(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadRules("it is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get("permissions"), dict):
        raise BadRules('it must be an object with the key "permissions", which is an object')
    lists = content["permissions"]
    unknown = sorted(set(lists) - set(_LISTS))
    if unknown:
        raise BadRules(f"permissions.{unknown[0]} is not one of {', '.join(_LISTS)}")
    deny, allow, confirm = (_parse_list(name, lists.get(name, []), tools) for name in _LISTS)
    return Rules(deny, allow, confirm)


def combined(own: Sequence[Rules], foreign: Sequence[Rules]) -> Rules:
    """Return one set of rules: all of the person's `own`, and those `foreign` ones that narrow them.

    Foreign rules come with a project, which anybody may have written: what they allow counts only where the person
    has no rules at all.
    """
    if not own and not foreign:
        return NO_RULES
    every = (*own, *foreign)
    return Rules(
        deny=tuple(rule for rules in every for rule in rules.deny),
        allow=tuple(rule for rules in (own or foreign) for rule in rules.allow),
        confirm=tuple(rule for rules in every for rule in rules.confirm),
    )


def _parse_list(name: str, value: object, tools: ToolActions) -> tuple[PermissionRule, ...]:
    if not isinstance(value, list):
        raise BadRules(f"permissions.{name} must be a list")
    return tuple(_parse_rule(f"permissions.{name}[{number}]", rule, tools) for number, rule in enumerate(value))


def _parse_rule(place: str, value: object, tools: ToolActions) -> PermissionRule:
    if not isinstance(value, Mapping) or not isinstance(value.get("tool"), str):
        raise BadRules(f'{place} must be an object with a "tool"')
    unknown = sorted(set(value) - {"tool", "skill_name"})
    if unknown:
        raise BadRules(f"{place} has the unknown key {unknown[0]!r}; only skill_name narrows a rule")
    tool = value["tool"]
    if tool not in tools.by_tool:
        raise BadRules(f"{place}: {tool!r} is not a tool of this hub")
    if "skill_name" not in value:
        return PermissionRule(tool)
    name = value["skill_name"]
    if not isinstance(name, str) or not is_specified_name(name):
        raise BadRules(f"{place}: skill_name must be one exact name in lower-case kebab-case, not {name!r}")
    if tools.action(tool) is None:
        raise BadRules(f"{place}: {tool} concerns no single skill, so it takes no skill_name")
    return PermissionRule(tool, name)


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        # JSON would silently use the last one, and a list of denials would disappear.
        raise BadRules(f"the key {repeated!r} appears twice")
    return dict(pairs)
