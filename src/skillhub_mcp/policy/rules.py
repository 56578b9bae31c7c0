"""Rules that deny or allow actions on skills, or require confirmation: deny beats allow beats confirm. Pure.

Rule 1: a file that is not understood is refused, so that a rule never permits more than was written.
Rule 2: denying one action also denies those that depend on it: a skill that must not be loaded is not read or run.
Rule 3: permission to load includes the skill's files, and never its commands.
Rule 4: what a file's rules do not decide needs confirmation, unless the file leaves the others as they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from skillhub_mcp.policy.tool_actions import Action, ToolActions
from skillhub_mcp.skills.names import is_specified_name


class Decision(Enum):
    """What the rules decide about an action."""

    DENY = "deny"
    ALLOW = "allow"
    CONFIRM = "confirm"


RULE_LISTS = ("deny", "allow", "confirm")
OTHERS = "others"


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

    def concerns_the_same(self, other: PermissionRule, tools: ToolActions) -> bool:
        """Whether `other` is about the same skill, or every one, and the same action: a rule has several spellings."""
        action = tools.action(self.tool)
        same_tool = self.tool == other.tool if action is None else action is tools.action(other.tool)
        return same_tool and self.skill_name == other.skill_name

    def as_json(self) -> dict[str, str]:
        """Return the rule as a file holds it."""
        return {"tool": self.tool} | ({} if self.skill_name is None else {"skill_name": self.skill_name})


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule, and the list of its file that it stands in: `deny`, `allow` or `confirm`."""

    verdict: str
    rule: PermissionRule


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of one file, or those in force. Without any rules at all, everything is allowed.

    `others` is what they decide about an action that none of them decides: CONFIRM, or ALLOW, which leaves it to
    `then`, the rules that come after these.
    """

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    confirm: tuple[PermissionRule, ...] = ()
    others: Decision = field(default=Decision.CONFIRM, kw_only=True)
    then: Rules | None = field(default=None, kw_only=True)

    def decide(self, action: Action, names: Collection[str], *, tools: ToolActions) -> Decision:
        """Return what the rules decide about `action` on the skill that goes by `names`; without names, on any other.

        A denial counts wherever it stands.
        """
        denying = tools.denying(action)
        if any(rule.applies_to(denying, names) for layer in self._layers for rule in layer.deny):
            return Decision.DENY
        for layer in self._layers:
            if any(rule.applies_to(tools.allowing(action), names) for rule in layer.allow):
                return Decision.ALLOW
            # What may be loaded with consent only is not run without it.
            confirmed = any(rule.applies_to(denying, names) for rule in layer.confirm)
            if confirmed or layer.others is Decision.CONFIRM:
                return Decision.CONFIRM
        return Decision.ALLOW

    def listed(self) -> tuple[ListedRule, ...]:
        """Return every rule with its list, without those of `then`."""
        lists = zip(RULE_LISTS, (self.deny, self.allow, self.confirm), strict=True)
        return tuple(ListedRule(verdict, rule) for verdict, rules in lists for rule in rules)

    def denies_tool(self, tool: str) -> bool:
        """Whether `tool` may not be called at all, for any skill."""
        return any(rule.tool == tool and rule.skill_name is None for layer in self._layers for rule in layer.deny)

    @property
    def _layers(self) -> tuple[Rules, ...]:
        return (self,) if self.then is None else (self, self.then)


NO_RULES = Rules(others=Decision.ALLOW)


def parse_rules(text: str, tools: ToolActions) -> Rules:
    """Return the rules of a file about `tools`. Raises BadRules.

    It is `{"permissions": {"deny": [...], "allow": [...], "confirm": [...], "others": "allow"}}`, each key optional.
    """
    try:
        content = json.loads(text, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise BadRules(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadRules("it is nested too deeply") from error
    if not isinstance(content, dict) or not isinstance(content.get("permissions"), dict):
        raise BadRules('it must be an object with the key "permissions", which is an object')
    lists = content["permissions"]
    unknown = sorted(set(lists) - {*RULE_LISTS, OTHERS})
    if unknown:
        raise BadRules(f"permissions.{unknown[0]} is not one of {', '.join((*RULE_LISTS, OTHERS))}")
    deny, allow, confirm = (_parse_list(name, lists.get(name, []), tools) for name in RULE_LISTS)
    others = lists.get(OTHERS, Decision.CONFIRM.value)
    if others not in (Decision.ALLOW.value, Decision.CONFIRM.value):
        raise BadRules(f'permissions.{OTHERS} must be "allow" or "confirm"')
    return Rules(deny, allow, confirm, others=Decision(others))


def combined(own: Sequence[Rules], foreign: Sequence[Rules]) -> Rules:
    """Return the rules in force: all of the person's `own`, and then the `foreign` ones.

    Foreign rules come with a project, which anybody may have written: they deny always, and decide the rest only
    where the person's leave it open.
    """
    return replace(_united(own), then=_united(foreign)) if foreign else _united(own)


def _united(files: Sequence[Rules]) -> Rules:
    """Return the rules of several files as one: what one of them puts behind consent stays there."""
    if not files:
        return NO_RULES
    limited = any(rules.others is Decision.CONFIRM for rules in files)
    return Rules(
        deny=tuple(rule for rules in files for rule in rules.deny),
        allow=tuple(rule for rules in files for rule in rules.allow),
        confirm=tuple(rule for rules in files for rule in rules.confirm),
        others=Decision.CONFIRM if limited else Decision.ALLOW,
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
