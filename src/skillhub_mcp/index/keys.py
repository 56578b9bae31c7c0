"""Keys of skills on disk: `LABEL/relative/path`, the same on every machine. In memory a skill's key is its directory.

A label stands for a root: its source's word, with a number where another root of the database has that. A skill that is
its root has the label alone as its key. One that a link leads to, outside its root, has no path below it: its key has
its own path, which holds on this machine only. Pure.
"""

from __future__ import annotations

import os
from collections.abc import Collection


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


def label_of(key: str) -> str:
    """Return the label that a key starts with."""
    return key.partition("/")[0]
