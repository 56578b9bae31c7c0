"""The directories and places that the user recorded to be searched, for all projects or for one. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp._util.safe_json import BadJson, read_format

# What can be recorded by a word instead of a directory.
RECORDABLE_PLACES = ("builtin", "claude", "plugins")

_FORMAT = 1
_ROOTS, _PROJECTS = "roots", "projects"


@dataclass(frozen=True, slots=True)
class RecordedRoots:
    """The record, in the order in which it was made: absolute directories, and words of `RECORDABLE_PLACES`."""

    everywhere: tuple[str, ...] = ()
    projects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def places(self) -> tuple[str, ...]:
        """The words."""
        return tuple(entry for entry in self.everywhere if entry in RECORDABLE_PLACES)

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories for all projects."""
        return tuple(entry for entry in self.everywhere if entry not in RECORDABLE_PLACES)

    def of_project(self, root: str) -> tuple[str, ...]:
        """Return the further directories of one project."""
        return self.projects.get(root, ())

    def with_entry(self, entry: str, *, project: str | None = None) -> RecordedRoots:
        """Return the record with a directory or a word added at the end, for all projects or for one."""
        if project is None:
            return self if entry in self.everywhere else RecordedRoots((*self.everywhere, entry), self.projects)
        own = self.of_project(project)
        return self if entry in own else RecordedRoots(self.everywhere, {**self.projects, project: (*own, entry)})

    def without_entry(self, entry: str) -> RecordedRoots:
        """Return the record without a directory or a word, for all projects and for each."""
        projects = {root: tuple(one for one in own if one != entry) for root, own in self.projects.items()}
        return RecordedRoots(tuple(one for one in self.everywhere if one != entry), projects)


NO_RECORD = RecordedRoots()


def parse_record(text: str) -> RecordedRoots:
    """Return the record that a file holds. Raises BadJson."""
    content = read_format(text, _FORMAT)
    projects = content.get(_PROJECTS, {})
    if not isinstance(projects, dict):
        raise BadJson(f'"{_PROJECTS}" must be an object')
    return RecordedRoots(
        _entries(_ROOTS, content.get(_ROOTS, []), words=RECORDABLE_PLACES),
        {root: _entries(f"{_PROJECTS}[{root!r}]", own) for root, own in projects.items()},
    )


def record_text(record: RecordedRoots, before: str | None = None) -> str:
    """Return the content of the file for `record`; what else its text `before` held is kept."""
    kept = {} if before is None else read_format(before, _FORMAT)
    own = {
        "format": _FORMAT,
        _ROOTS: list(record.everywhere),
        _PROJECTS: {root: list(entries) for root, entries in record.projects.items() if entries},
    }
    return json.dumps(kept | own, ensure_ascii=False, indent=2) + "\n"


def _entries(place: str, value: object, *, words: Sequence[str] = ()) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(entry, str) and (os.path.isabs(entry) or entry in words) and "\0" not in entry for entry in value
    ):
        or_words = f", or {' or '.join(words)}" if words else ""
        raise BadJson(f"{place} must be a list of absolute paths{or_words}")
    return tuple(dict.fromkeys(value))
