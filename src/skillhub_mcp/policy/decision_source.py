"""The file that decides about a skill: the rule or the choice in it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from skillhub_mcp.policy.choices import Choices, choice_key
from skillhub_mcp.policy.rules import Rules
from skillhub_mcp.policy.tool_actions import Action, ToolActions
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.selectors import terms_of


@dataclass(frozen=True, slots=True)
class DecisionSource:
    """The file that decides, and what it says. `in_project` if it decides for one project."""

    path: str
    text: str
    in_project: bool = False


@dataclass(frozen=True, slots=True)
class RulesAt:
    """The path of a file of rules, and its rules. One `of_project` concerns the skills that the project brings."""

    path: str
    rules: Rules
    of_project: bool = False


def denials(files: Iterable[RulesAt], skill: Skill, action: Action, *, tools: ToolActions) -> list[DecisionSource]:
    """Return every rule that denies `action` on a skill."""
    denying, names = tools.denying(action), terms_of(skill)
    return [
        DecisionSource(file.path, json.dumps(rule.as_json(), ensure_ascii=False))
        for file in files
        for rule in file.rules.deny
        if rule.applies_to(denying, names)
    ]


def switched_off(path: str, choices: Choices, skill: Skill, *, project: str) -> DecisionSource | None:
    """Return the choice that switches a skill off in `project`, or None; `path` is that of the file of choices."""
    # The project's layer decides first; a path before a name.
    for layer, where in ((choices.projects.get(project, {}), f" in {project}"), (choices.user, "")):
        for key in (skill.directory, choice_key(skill.name), choice_key(skill.alias)):
            if key in layer:
                text = f"{key!r} is off{where}"
                return None if layer[key] else DecisionSource(path, text, in_project=bool(where))
    return None
