"""What a command saw of the sources of installed skills: which of them had something newer, and when. Pure, but for
`read_seen`.

Only `outdated` and `update` ask a source, when a person types them. They leave this beside the receipts, so that lists
and a server, which ask nobody, can tell it while the lock still names what was compared.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.foreign_json import BadJson, read_json
from skillhub_mcp.locks.lock_file import LockedByHub
from skillhub_mcp.locks.plain_files import read_plain
from skillhub_mcp.skills.own_directory import OWN_DIRECTORY

_VERSION = 1
_MAX_BYTES = 64 * 1024 * 1024
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class SeenNewer:
    """A source had another version of a skill at `seen`, a time in UTC such as `2026-11-22T22:40:00Z`.

    `digest` and `commit` are those of the lock with which it was compared, `newer` is the source's commit then; commits
    are empty where there are none.
    """

    digest: str
    commit: str
    newer: str
    seen: str

    def is_about(self, ours: LockedByHub) -> bool:
        """Whether the lock still names what was compared."""
        return (self.digest, self.commit) == (ours.digest, ours.commit)


def seen_path(root: str) -> str:
    """Return where it lies for the skills of `root`."""
    return os.path.join(root, OWN_DIRECTORY, "sources.json")


def seen_text(seen: Mapping[str, SeenNewer]) -> str:
    """Return the text of it, by the names of the skills."""
    skills = {
        name: {"digest": one.digest, "commit": one.commit, "newer": one.newer, "seen": one.seen}
        for name, one in sorted(seen.items())
    }
    return json.dumps({"version": _VERSION, "skills": skills}, indent=1) + "\n"


def parse_seen(text: str) -> Mapping[str, SeenNewer]:
    """Return what a text says, by the names of the skills; nothing for what is damaged or newer, entry by entry."""
    try:
        whole = read_json(text)
    except BadJson:
        return {}
    if not isinstance(whole, dict) or whole.get("version") != _VERSION or not isinstance(whole.get("skills"), dict):
        return {}
    return {name: found for name, entry in whole["skills"].items() if (found := _seen(entry)) is not None}


def read_seen(root: str) -> Mapping[str, SeenNewer]:
    """Return what was seen of the sources of the skills of `root`; nothing where that cannot be read."""
    try:
        content = read_plain(seen_path(root), max_bytes=_MAX_BYTES)
        return {} if content is None else parse_seen(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def _seen(entry: Any) -> SeenNewer | None:
    if not isinstance(entry, dict):
        return None
    found: dict[str, str] = {}
    for key, form in {"digest": _DIGEST, "commit": _COMMIT, "newer": _COMMIT, "seen": _TIME}.items():
        value = entry.get(key)
        if not isinstance(value, str) or not form.fullmatch(value):
            return None
        found[key] = value
    return SeenNewer(**found)
