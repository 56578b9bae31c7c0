"""Where a decision was written: the file and the line of the rule or the choice that decides about a skill. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillhub_mcp.policy.choices import Choices, choice_key
from skillhub_mcp.policy.rules import Rules
from skillhub_mcp.policy.tool_actions import Action, ToolActions
from skillhub_mcp.skills.model import Skill

Place = tuple[str | int, ...]

_BLANKS = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Origin:
    """The line of a file that decides, from 1, and what it says. `in_project` where it decides for one project."""

    path: str
    line: int
    text: str
    in_project: bool = False


@dataclass(frozen=True, slots=True)
class RulesText:
    """A file of rules: its path, what it says, and its text. One `of_project` is about the skills that it brings."""

    path: str
    rules: Rules
    text: str
    of_project: bool = False


@dataclass(frozen=True, slots=True)
class ChoicesText:
    """The file of choices: its path, what it says, and its text."""

    path: str
    choices: Choices
    text: str


def denials(files: Iterable[RulesText], skill: Skill, action: Action, *, tools: ToolActions) -> tuple[Origin, ...]:
    """Return every rule that denies `action` on a skill."""
    found = []
    for file in files:
        lines = lines_of(file.text)
        for number, rule in enumerate(file.rules.deny):
            if rule.applies_to(tools.denying(action), (skill.name, skill.alias)):
                line = lines[("permissions", "deny", number)]
                found.append(Origin(file.path, line, json.dumps(rule.as_json(), ensure_ascii=False)))
    return tuple(found)


def switched_off(file: ChoicesText, skill: Skill, *, project: str) -> Origin | None:
    """Return the choice that switches a skill off in `project`, or None where none does."""
    choices = file.choices
    if choices.is_on(name=skill.name, alias=skill.alias, directory=skill.directory, project=project):
        return None
    # The project's layer decides first; a path before a name.
    layers: Sequence[tuple[Place, Mapping[str, bool], str]] = (
        (("projects", project), choices.projects.get(project, {}), f" in {project}"),
        (("user",), choices.user, ""),
    )
    lines = lines_of(file.text)
    for at, layer, where in layers:
        for key in (skill.directory, choice_key(skill.name), choice_key(skill.alias)):
            if key in layer:
                written = (place for place in lines if place[:-1] == at and choice_key(str(place[-1])) == key)
                line = max(lines[place] for place in written)
                return Origin(file.path, line, f"{key!r} is off{where}", in_project=bool(where))
    return None


def lines_of(text: str) -> Mapping[Place, int]:
    """Return the line of each member and element of valid JSON, by the keys and numbers that lead to it."""
    found: dict[Place, int] = {}
    decoder = json.JSONDecoder()

    def blanks(at: int) -> int:
        match = _BLANKS.match(text, at)
        return at if match is None else match.end()

    def value(at: int, place: Place) -> int:
        """Note the lines of what is in the value at `at`, and return where it ends."""
        at = blanks(at)
        if text[at] not in "{[":
            return decoder.raw_decode(text, at)[1]
        in_object, end = text[at] == "{", "}" if text[at] == "{" else "]"
        at, number = blanks(at + 1), 0
        while text[at] != end:
            key: str | int = number
            line = text.count("\n", 0, at) + 1
            if in_object:
                key, at = decoder.raw_decode(text, at)
                at = blanks(at) + 1
            found[(*place, key)] = line
            at, number = blanks(value(at, (*place, key))), number + 1
            at = blanks(at + 1) if text[at] == "," else at
        return at + 1

    value(0, ())
    return found
