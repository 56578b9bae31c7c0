"""Keys of skills on disk: `LABEL/relative/path`, the same on every machine. In memory a skill's key is its directory.

A label stands for a root: its source's word, with a number where another root of the database has that. A skill that is
its root has the label alone as its key. One that a link leads to, outside its root, has no path below it: its key has
its own path, which holds on this machine only. A directory below two roots has a key of each; its row has one of them.
Pure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_KNOWN_KEYS = 10_000


def free_label(word: str, taken: Collection[str]) -> str:
    """Return `word`, or with `-2`, `-3`, … the first label that is not `taken`."""
    label, number = word, 1
    while label in taken:
        number += 1
        label = f"{word}-{number}"
    return label


class RootKeys:
    """The keys of the skills found under one root, and back. `path` is the root's, as configured."""

    def __init__(self, label: str, path: str) -> None:
        self.label = label
        self.path = path
        self._above = os.path.join(path, "")
        self._start = label + "/"

    def key(self, directory: str) -> str:
        """Return the key of a skill by its directory."""
        if directory == self.path:
            return self.label
        below = directory.removeprefix(self._above)
        return self._start + (below if os.sep == "/" else below.replace(os.sep, "/"))

    def directory(self, key: str) -> str:
        """Return the directory of a skill by its key. Raises ValueError for a key of another root."""
        if key == self.label:
            return self.path
        if not key.startswith(self._start):
            raise ValueError(key)
        below = key[len(self._start) :]
        if os.sep != "/":
            below = below.replace("/", os.sep)
            return below if os.path.isabs(below) else self._above + below
        return below if below[:1] == "/" else self._above + below


@dataclass(frozen=True)
class LibraryKeys:
    """The keys of all skills of a database, and back. `labels` are those of its roots, by path."""

    labels: Mapping[str, str]

    @cached_property
    def _by_root(self) -> Mapping[str, RootKeys]:
        return {path: RootKeys(label, path) for path, label in self.labels.items()}

    @cached_property
    def _by_label(self) -> Mapping[str, RootKeys]:
        return {own.label: own for own in self._by_root.values()}

    @cached_property
    def directory(self) -> Callable[[str], str]:
        """Return the directory that a key stands for, "" for a key of no known root."""
        # Each search asks for those of hundreds of rows, and mostly of the same.
        return lru_cache(_KNOWN_KEYS)(self._directory)

    def key(self, root: str, directory: str) -> str:
        """Return the key of a skill that was found under one of the roots."""
        return self._by_root[root].key(directory)

    def root(self, key: str) -> str | None:
        """Return the root whose label a key has, or None."""
        own = self._by_label.get(label_of(key))
        return None if own is None else own.path

    def _directory(self, key: str) -> str:
        own = self._by_label.get(label_of(key))
        return "" if own is None else own.directory(key)

    def directories(self, keys: Sequence[str]) -> list[str]:
        """Return the directory of each key, "" for one of no known root."""
        return list(map(self.directory, keys))

    def of(self, directory: str) -> list[str]:
        """Return the keys that the row of a directory may have: one for each root."""
        return [own.key(directory) for own in self._by_root.values()]


def label_of(key: str) -> str:
    """Return the label that a key starts with."""
    return key.partition("/")[0]
