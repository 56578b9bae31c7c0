"""Keys of skills on disk: `LABEL/relative/path`, the same on every machine. In memory a skill's key is its directory.

A label stands for a root: its source's word, with a number if another root of the database has that. A skill that is
its root has the label alone as its key. One that a link leads to, outside its root, has no path below it: its key has
its own path, which holds on this machine only. A directory below two roots has a key of each; its row has one of them.
Pure.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count


def free_label(word: str, taken: Collection[str]) -> str:
    """Return `word`, or with `-2`, `-3`, … the first label that is not `taken`."""
    return next(label for number in count(1) if (label := f"{word}-{number}" if number > 1 else word) not in taken)


def label_of(key: str) -> str:
    """Return the label that a key starts with."""
    return key.partition("/")[0]


def make_key(label: str, root: str, directory: str) -> str:
    """Return the key of a skill that was found under a root."""
    return label if directory == root else f"{label}/{directory.removeprefix(os.path.join(root, ''))}"


@dataclass(frozen=True)
class LibraryKeys:
    """The keys of all skills of a database, and back. `labels` are those of its roots, by path."""

    labels: Mapping[str, str]

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return {label: path for path, label in self.labels.items()}

    def key(self, root: str, directory: str) -> str:
        """Return the key of a skill that was found under one of the roots."""
        return make_key(self.labels[root], root, directory)

    def root(self, key: str) -> str | None:
        """Return the root whose label a key has, or None."""
        return self._roots.get(label_of(key))

    def directory(self, key: str) -> str:
        """Return the directory that a key stands for, "" for a key of no known root."""
        return self.directories([key])[0]

    def directories(self, keys: Iterable[str]) -> list[str]:
        """Return the directory of each key, "" for one of no known root."""
        # One loop without calls: each search asks for hundreds.
        parts = [(self._roots.get(label, ""), below) for label, _, below in [key.partition("/") for key in keys]]
        return [os.path.join(root, below) if root and below else root for root, below in parts]

    def of(self, directory: str) -> list[str]:
        """Return the keys that the row of a directory may have: one for each root."""
        return [make_key(label, root, directory) for root, label in self.labels.items()]
