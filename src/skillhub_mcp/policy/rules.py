"""Rules that deny or allow actions on skills, or require confirmation: deny beats allow beats confirm. Pure.

Rule 1: an invalid file is rejected, so that a rule never permits more than was written.
Rule 2: denying one action also denies those that depend on it: a skill that must not be loaded is not read or run.
Rule 3: permission to load includes the skill's files, and never its commands.
Rule 4: other skills need confirmation, unless the file's `others` says otherwise.
Rule 5: a rule that allows running may name the digest of the skill's files; of other files it asks for confirmation.
Rule 6: only the user's rules allow network and packages, for one skill.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from skillhub_mcp._util.safe_json import BadJson, read_json, unique_keys
from skillhub_mcp.policy.tool_actions import ALLOWING, DENYING, TOOL_ACTIONS, Action
from skillhub_mcp.skills.names import is_specified_name
from skillhub_mcp.skills.selectors import is_rule_selector, is_selector, selects


class Decision(Enum):
    """What the rules decide about an action."""

    DENY = "deny"
    ALLOW = "allow"
    CONFIRM = "confirm"


RULE_LISTS = ("deny", "allow", "confirm")
OTHERS = "others"
_RUN_KEYS = ("digest", "network", "packages")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A tool, and the skill, glob or group that it is about, or every skill.

    One that allows running may name the `digest` that may run, and may allow the `network` and `packages`.
    """

    tool: str
    skill_name: str | None = None
    digest: str | None = None
    network: bool = False
    packages: bool = False

    def applies_to(self, tools: Collection[str], names: Collection[str]) -> bool:
        """Whether the rule is about one of `tools`, for a skill that goes by `names`: its terms."""
        return self.tool in tools and (self.skill_name is None or selects(self.skill_name, names))

    def concerns_the_same(self, other: PermissionRule) -> bool:
        """Whether `other` is about the same skill, or every one, and the same action: a rule has several spellings."""
        action = TOOL_ACTIONS.get(self.tool)
        same_tool = self.tool == other.tool if action is None else action is TOOL_ACTIONS.get(other.tool)
        return same_tool and self.skill_name == other.skill_name

    def as_json(self) -> dict[str, object]:
        """Return the rule as a file holds it."""
        key = "select" if is_selector(self.skill_name or "") else "skill_name"
        return {
            "tool": self.tool,
            **({} if self.skill_name is None else {key: self.skill_name}),
            **({} if self.digest is None else {"digest": self.digest}),
            **({"network": True} if self.network else {}),
            **({"packages": True} if self.packages else {}),
        }

    def fits(self, digest: str | None) -> bool:
        """Whether the rule is about files of that digest; None stands for any."""
        return self.digest is None or digest is None or self.digest == digest


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule, and its list in the file: `deny`, `allow` or `confirm`."""

    verdict: str
    rule: PermissionRule


@dataclass(frozen=True, slots=True)
class RunRights:
    """What rules allow beside running; `changed` and `named` are about the files that a rule allows."""

    network: bool = False
    packages: bool = False
    changed: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of a file. `others` decides about the other skills; ALLOW leaves them to `then`, the project's rules.

    `kept` is what else the file holds.
    """

    deny: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()
    confirm: tuple[PermissionRule, ...] = ()
    others: Decision = field(default=Decision.CONFIRM, kw_only=True)
    then: Rules | None = field(default=None, kw_only=True)
    kept: Mapping[str, Any] = field(default_factory=dict, kw_only=True, compare=False)

    def decide(
        self,
        action: Action,
        names: Collection[str],
        *,
        digest: str | None = None,
        is_meant: bool = True,
        with_project: bool = True,
    ) -> Decision:
        """Return what the rules decide about `action` on a skill with those `names`; a denial always counts.

        Unless it `is_meant`, these rules allow nothing; unless `with_project`, those `then` do not count.
        """
        layers = (self,) if self.then is None or not with_project else (self, self.then)
        denying = DENYING[action]
        if any(rule.applies_to(denying, names) for layer in layers for rule in layer.deny):
            return Decision.DENY
        for layer in layers:
            counting = names if is_meant or layer is not self else ()
            allowing = [rule for rule in layer.allow if rule.applies_to(ALLOWING[action], counting)]
            if any(rule.fits(digest) for rule in allowing):
                return Decision.ALLOW
            # What may be loaded with consent only is not run without it.
            if allowing or any(rule.applies_to(denying, names) for rule in layer.confirm):
                return Decision.CONFIRM
            if layer.others is not Decision.ALLOW:
                return layer.others
        return Decision.ALLOW

    def run_rights(self, names: Collection[str], *, digest: str) -> RunRights:
        """Return what the person's own rules allow beside running the skill's commands, of files of that digest."""
        applying = [rule for rule in self.allow if rule.applies_to(ALLOWING[Action.RUN], names)]
        fitting = [rule for rule in applying if rule.fits(digest)]
        return RunRights(
            network=any(rule.network for rule in fitting),
            packages=any(rule.packages for rule in fitting),
            changed=bool(applying) and not fitting,
            named=any(rule.skill_name is not None and rule.digest is not None for rule in fitting),
        )

    def listed(self) -> tuple[ListedRule, ...]:
        """Return every rule with its list, without those of `then`."""
        lists = zip(RULE_LISTS, (self.deny, self.allow, self.confirm), strict=True)
        return tuple(ListedRule(verdict, rule) for verdict, rules in lists for rule in rules)

    def with_rule(self, verdict: str, rule: PermissionRule) -> Rules:
        """Return the rules with one more, in place of those about the same."""
        return self._with_lists([*self.without(rule).listed(), ListedRule(verdict, rule)])

    def without(self, rule: PermissionRule) -> Rules:
        """Return the rules without those about the same as `rule`."""
        return self._with_lists([one for one in self.listed() if not one.rule.concerns_the_same(rule)])

    def _with_lists(self, listed: Sequence[ListedRule]) -> Rules:
        deny, allow, confirm = (tuple(one.rule for one in listed if one.verdict == name) for name in RULE_LISTS)
        return replace(self, deny=deny, allow=allow, confirm=confirm)

    def denies_tool(self, tool: str) -> bool:
        """Whether `tool` may not be called at all, for any skill."""
        return any(rule.tool == tool and rule.skill_name is None for rule in self.deny)


NO_RULES = Rules(others=Decision.ALLOW)


def parse_rules(text: str) -> Rules:
    """Return the rules of `{"permissions": {"deny": [...], "allow": [...], ...}}`. Raises BadJson."""
    content = read_json(text, pairs=unique_keys)
    if not isinstance(content, dict) or not isinstance(content.get("permissions"), dict):
        raise BadJson('it must be an object with the key "permissions", which is an object')
    lists = content.pop("permissions")
    unknown = sorted(set(lists) - {*RULE_LISTS, OTHERS})
    if unknown:
        raise BadJson(f"permissions.{unknown[0]} is not one of {', '.join((*RULE_LISTS, OTHERS))}")
    deny, allow, confirm = (_parse_list(name, lists.get(name, [])) for name in RULE_LISTS)
    others = lists.get(OTHERS, Decision.CONFIRM.value)
    if others not in [decision.value for decision in Decision]:
        raise BadJson(f'permissions.{OTHERS} must be "allow", "confirm" or "deny"')
    return Rules(deny, allow, confirm, others=Decision(others), kept=content)


def rules_text(rules: Rules) -> str:
    """Return the content of the file that holds `rules`."""
    lists: dict[str, Any] = {}
    for one in rules.listed():
        lists.setdefault(one.verdict, []).append(one.rule.as_json())
    content = {**rules.kept, "permissions": {**lists, OTHERS: rules.others.value}}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _parse_list(name: str, value: object) -> tuple[PermissionRule, ...]:
    if not isinstance(value, list):
        raise BadJson(f"permissions.{name} must be a list")
    return tuple(_parse_rule(name, f"permissions.{name}[{number}]", rule) for number, rule in enumerate(value))


def _parse_rule(list_name: str, place: str, value: object) -> PermissionRule:
    if not isinstance(value, Mapping) or not isinstance(value.get("tool"), str):
        raise BadJson(f'{place} must be an object with a "tool"')
    unknown = sorted(set(value) - {"tool", "skill_name", "select", *_RUN_KEYS})
    if unknown:
        raise BadJson(f"{place} has the unknown key {unknown[0]!r}; only skill_name, select and digest narrow a rule")
    tool = value["tool"]
    if tool not in TOOL_ACTIONS:
        raise BadJson(f"{place}: {tool!r} is not a tool of this hub")
    run_keys = [key for key in _RUN_KEYS if key in value]
    if run_keys and not (list_name == "allow" and TOOL_ACTIONS.get(tool) is Action.RUN):
        raise BadJson(f"{place}: {run_keys[0]} belongs to rules that allow running commands")
    name = _narrowed(place, value)
    if "skill_name" not in value:
        if set(run_keys) - {"packages"}:
            raise BadJson(f"{place}: {run_keys[0]} belongs to a rule with a skill_name")
        return PermissionRule(tool, name, packages=_flag(place, value, "packages"))
    digest = value.get("digest")
    if "digest" in value and not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise BadJson(f"{place}: digest must be sha256: and 64 hexadecimal digits in lower case")
    network, packages = (_flag(place, value, key) for key in ("network", "packages"))
    return PermissionRule(tool, name, digest, network, packages)


def _narrowed(place: str, value: Mapping[str, Any]) -> str | None:
    """Return the skill, glob or group that a rule is about; None for every skill."""
    keys = [key for key in ("skill_name", "select") if key in value]
    if not keys:
        return None
    name = value[keys[0]]
    if len(keys) > 1:
        raise BadJson(f"{place} has both skill_name and select; keep one")
    if TOOL_ACTIONS.get(value["tool"]) is None:
        raise BadJson(f"{place}: {value['tool']} concerns no single skill, so it takes no {keys[0]}")
    if keys == ["skill_name"] and not (isinstance(name, str) and is_specified_name(name)):
        raise BadJson(f"{place}: skill_name must be one exact name in lower-case kebab-case, not {name!r}")
    if keys == ["select"] and not (isinstance(name, str) and is_rule_selector(name)):
        allowed = "a glob of names, or source:, category: or tag: and a name, in lower case"
        raise BadJson(f"{place}: select must be {allowed}, not {name!r}")
    return str(name)


def _flag(place: str, value: Mapping[str, object], key: str) -> bool:
    given = value.get(key, False)
    if not isinstance(given, bool):
        raise BadJson(f"{place}: {key} must be true or false")
    return given
