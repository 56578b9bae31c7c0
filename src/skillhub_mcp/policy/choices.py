"""Skills that the user switched on or off, by name or path, for all projects or for one. Pure."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, StrictBool

from skillhub_mcp._util.safe_json import JsonFormat
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name


def choice_key(key: str) -> str:
    """Return the key of a choice: a path unchanged, a name folded."""
    return key if os.path.isabs(key) else fold_name(key)


_Layer = Mapping[Annotated[str, AfterValidator(choice_key)], StrictBool]
_NONE: Mapping[str, bool] = {}


class Choice(NamedTuple):
    """One choice: its key, a path or a folded name, and whether it is for one project only."""

    key: str
    on: bool
    in_project: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices by absolute directory or folded name: True is on, False is off, none is on."""

    user: _Layer = field(default_factory=dict)
    projects: Mapping[str, _Layer] = field(default_factory=dict)

    def about(self, skill: Skill, *, project: str) -> Choice | None:
        """Return the choice that decides about a skill: the project's layer before the user's, a path before a name."""
        if not self.user and not self.projects:
            return None
        for layer, in_project in ((self.projects.get(project, _NONE), True), (self.user, False)):
            for key in (skill.directory, choice_key(skill.name), choice_key(skill.alias)):
                if key in layer:
                    return Choice(key, layer[key], in_project=in_project)
        return None

    def is_off(self, skill: Skill, *, project: str) -> bool:
        """Whether a skill is switched off in `project`."""
        choice = self.about(skill, project=project)
        return choice is not None and not choice.on

    def is_switched_on(self, skill: Skill, *, project: str) -> bool:
        """Whether a choice switches the skill on; without a choice it is on by default."""
        choice = self.about(skill, project=project)
        return choice is not None and choice.on

    def switched(
        self, key: str, *, also: Collection[str] = (), names: Collection[str] = (), on: bool, project: str | None = None
    ) -> Choices:
        """Return the choices with `key` on or off, for all projects or one, without those for the keys `also`."""
        folded = choice_key(key)
        replaced = {folded, *map(choice_key, also)}
        before = self.user if project is None else self.projects.get(project, _NONE)
        layer = {other: state for other, state in before.items() if other not in replaced}
        if project is not None:
            return replace(self, projects={**self.projects, project: {**layer, folded: on}})
        # A skill is on by default.
        default = all(layer.get(choice_key(name), True) for name in names)
        return replace(self, user=layer if on and default else {**layer, folded: on})


NO_CHOICES = Choices()
CHOICES_FORMAT = JsonFormat(Choices)
