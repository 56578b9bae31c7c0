"""Which skills did a person switch off? Kept by name or by path, for the person and for one project. Pure.

Both layers lie in the person's own file: a project that could switch skills on would undo what the person chose.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

_FORMAT = 1
_NONE: Mapping[str, bool] = {}


class BadChoices(ValueError):
    """A file of choices that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen: True is on, False is off; what is in neither layer is on.

    Keys are absolute paths of skills' directories, or names as `choice_key` folds them.
    """

    user: Mapping[str, bool] = field(default_factory=dict)
    projects: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)

    def is_on(self, *, name: str, alias: str, directory: str, project: str) -> bool:
        """Whether a skill is on in `project`: its layer decides before the person's, and a path before a name."""
        if not self.user and not self.projects:
            return True
        for layer in (self.projects.get(project, _NONE), self.user):
            for key in (directory, choice_key(name), choice_key(alias)):
                if key in layer:
                    return layer[key]
        return True

    def switched(self, key: str, *, also: Collection[str] = (), on: bool, project: str | None = None) -> Choices:
        """Return the choices with `key`, a name or a path, on or off for the person, or in one project.

        `also` is what else the same skill is known by: nothing that was chosen under those stays in that layer.
        """
        folded = choice_key(key)
        gone = {folded, *map(choice_key, also)}
        before = self.user if project is None else self.projects.get(project, _NONE)
        layer = {known: state for known, state in before.items() if known not in gone}
        if project is not None:
            return replace(self, projects={**self.projects, project: {**layer, folded: on}})
        # What nobody switched off is on anyway.
        return replace(self, user=layer if on else {**layer, folded: False})


NO_CHOICES = Choices()


def choice_key(key: str) -> str:
    """Return what a choice is kept under: a path as it is, a name without regard to its letters' case."""
    return key if os.path.isabs(key) else unicodedata.normalize("NFKC", key).strip().casefold()


def parse_choices(text: str) -> Choices:
    """Return the choices that a file holds. Raises BadChoices."""
    try:
        written = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadChoices(f"line {error.lineno} is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise BadChoices("it is nested too deeply") from error
    if not isinstance(written, dict) or written.get("format") != _FORMAT:
        raise BadChoices(f'it must be an object with "format": {_FORMAT}')
    projects = written.get("projects", {})
    if not isinstance(projects, dict):
        raise BadChoices('"projects" must be an object')
    return Choices(
        user=_layer("user", written.get("user", {})),
        projects={root: _layer(f"projects[{root!r}]", layer) for root, layer in projects.items()},
    )


def choices_text(choices: Choices) -> str:
    """Return the file that holds `choices`, the same for the same choices."""
    written = {
        "format": _FORMAT,
        "user": dict(choices.user),
        "projects": {root: dict(layer) for root, layer in choices.projects.items() if layer},
    }
    return json.dumps(written, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _layer(place: str, written: object) -> dict[str, bool]:
    if not isinstance(written, dict) or not all(isinstance(state, bool) for state in written.values()):
        raise BadChoices(f"{place} must be an object of names or paths, each true or false")
    return {choice_key(key): state for key, state in written.items()}
