"""Keys of skills on disk: `LABEL/relative/path`, the same on every machine. In memory a skill's key is its directory.

A label stands for a root: its source's word, with a number where another root of the database has that. A skill that is
its root has the label alone as its key. One that a link leads to, outside its root, has no path below it: its key has
its own path, which holds on this machine only. A directory below two roots has a key of each; its row has one of them.
Pure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol


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
        # Of a large library this is asked a hundred thousand times at each start.
        return below if below[:1] == "/" else self._above + below


class RowKeys(Protocol):
    """What keys of rows mean on this machine. Those that mean the same are equal."""

    def directory(self, key: str) -> str:
        """Return the directory that a key stands for, "" for a key of no known root."""

    def directories(self, keys: Iterable[str]) -> list[str]:
        """Return the directory of each key, "" for one of no known root."""

    def root(self, key: str, /) -> str | None:
        """Return the root that a key names, or None."""

    def of(self, directory: str) -> list[str]:
        """Return the keys that the row of a directory may have."""


class LibraryKeys:
    """The keys of all skills of a database, and back. `labels` are those of its roots, by path.

    `known` returns the texts of paths that are in memory already, so that of a large library there are not two of each.
    """

    def __init__(self, labels: Mapping[str, str], *, known: Callable[[list[str]], list[str]] = list) -> None:
        self._known = known
        self._labels = dict(labels)
        self._by_root = {path: RootKeys(label, path) for path, label in labels.items()}
        self._by_label = {own.label: own for own in self._by_root.values()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LibraryKeys) and self._labels == other._labels

    def __hash__(self) -> int:
        return hash(frozenset(self._labels.items()))

    def label(self, root: str) -> str:
        """Return the label of a root. Raises KeyError."""
        return self._by_root[root].label

    def key(self, root: str, directory: str) -> str:
        """Return the key of a skill that was found under one of the roots."""
        return self._by_root[root].key(directory)

    def root(self, key: str) -> str | None:
        """Return the root whose label a key has, or None."""
        own = self._by_label.get(label_of(key))
        return None if own is None else own.path

    def directory(self, key: str) -> str:
        """Return the directory that a key stands for, "" for a key of no known root."""
        own = self._by_label.get(label_of(key))
        return "" if own is None else own.directory(key)

    def directories(self, keys: Iterable[str]) -> list[str]:
        """Return the directory of each key, "" for one of no known root."""
        if len(self._by_label) != 1 or os.sep != "/":
            return self._known([self.directory(key) for key in keys])
        ((label, only),) = self._by_label.items()
        keys, above = list(keys), os.path.join(only.path, "")
        start, text = f"\n{label}/", "\n".join(("", *keys))
        # As nearly always: of a large library this is asked a hundred thousand times at each start.
        if text.count("\n") == text.count(start) == len(keys) and start + "/" not in text and "\n" not in above:
            return self._known(text.replace(start, "\n" + above).split("\n")[1:])
        plain, length = label + "/", len(label) + 1
        paths = [
            above + key[length:] if key.startswith(plain) and key[length : length + 1] != "/" else self.directory(key)
            for key in keys
        ]
        return self._known(paths)

    def of(self, directory: str) -> list[str]:
        """Return the keys that the row of a directory may have: one for each root."""
        return [own.key(directory) for own in self._by_root.values()]


@dataclass(frozen=True)
class PathKeys:
    """The keys of rows that have none: the directories themselves."""

    def directory(self, key: str) -> str:
        """Return the key."""
        return key

    def directories(self, keys: Iterable[str]) -> list[str]:
        """Return the keys."""
        return list(keys)

    def root(self, _: str, /) -> str | None:
        """Return None: a path names no root."""
        return None

    def of(self, directory: str) -> list[str]:
        """Return the directory alone."""
        return [directory]


def label_of(key: str) -> str:
    """Return the label that a key starts with."""
    return key.partition("/")[0]
