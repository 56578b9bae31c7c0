"""The directories and places that the user recorded to be searched, for all projects or for one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator, Field

from skillhub_mcp._util.safe_json import JsonFormat, absolute_path

# What can be recorded by a word instead of a directory.
RECORDABLE_PLACES = ("builtin", "claude", "plugins")


def _entry(entry: str) -> str:
    return entry if entry in RECORDABLE_PLACES else absolute_path(entry)


def _once(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))


_Entries = Annotated[tuple[Annotated[str, AfterValidator(_entry)], ...], AfterValidator(_once)]
_Directories = Annotated[tuple[Annotated[str, AfterValidator(absolute_path)], ...], AfterValidator(_once)]


@dataclass(frozen=True, slots=True)
class RecordedRoots:
    """The record, in the order in which it was made: absolute directories, and words of `RECORDABLE_PLACES`."""

    everywhere: Annotated[_Entries, Field(alias="roots")] = ()
    projects: Mapping[str, _Directories] = field(default_factory=dict)

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
        left = {root: entries for root, entries in projects.items() if entries}
        return RecordedRoots(tuple(one for one in self.everywhere if one != entry), left)


NO_RECORD = RecordedRoots()
ROOTS_FORMAT = JsonFormat(RecordedRoots)
