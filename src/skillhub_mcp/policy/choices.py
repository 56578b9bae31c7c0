"""The skills that a person switched on or off, by name or path, for all projects or for one. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from skillhub_mcp._util.safe_json import BadJson, read_format
from skillhub_mcp.skills.names import fold_name

_FORMAT = 1
_NONE: Mapping[str, bool] = {}


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices by absolute directory or folded name: True is on, False is off, none is on."""

    user: Mapping[str, bool] = field(default_factory=dict)
    projects: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    def is_on(self, *, name: str, alias: str, directory: str, project: str) -> bool:
        """Whether a skill is on in `project`: the project's layer decides first, and a path before a name."""
        return self._choice(name=name, alias=alias, directory=directory, project=project) is not False

    def is_chosen(self, *, name: str, alias: str, directory: str, project: str) -> bool:
        """Whether a person switched the skill on, rather than left it as it is."""
        return self._choice(name=name, alias=alias, directory=directory, project=project) is True

    def _choice(self, *, name: str, alias: str, directory: str, project: str) -> bool | None:
        if not self.user and not self.projects:
            return None
        for layer in (self.projects.get(project, _NONE), self.user):
            for key in (directory, choice_key(name), choice_key(alias)):
                if key in layer:
                    return layer[key]
        return None

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


def choice_key(key: str) -> str:
    """Return the key of a choice: a path unchanged, a name folded."""
    return key if os.path.isabs(key) else fold_name(key)


def parse_choices(text: str) -> Choices:
    """Return the choices that a file holds. Raises BadJson."""
    content = read_format(text, _FORMAT)
    projects = content.get("projects", {})
    if not isinstance(projects, dict):
        raise BadJson('"projects" must be an object')
    return Choices(
        user=_layer("user", content.get("user", {})),
        projects={root: _layer(f"projects[{root!r}]", layer) for root, layer in projects.items()},
    )


def choices_text(choices: Choices) -> str:
    """Return the content of the file that holds `choices`, the same for the same choices."""
    content = {
        "format": _FORMAT,
        "user": dict(choices.user),
        "projects": {root: dict(layer) for root, layer in choices.projects.items() if layer},
    }
    return json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _layer(place: str, value: object) -> dict[str, bool]:
    if not isinstance(value, dict) or not all(isinstance(on, bool) for on in value.values()):
        raise BadJson(f"{place} must be an object of names or paths, each true or false")
    return {choice_key(key): on for key, on in value.items()}
