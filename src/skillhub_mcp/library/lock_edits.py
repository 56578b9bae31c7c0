"""The entries of a lock of skills, taken out and put back, with everything else in it kept as it is. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.foreign_json import BadJson, read_json

_VERSION = 1
_SKILLS = "skills"
_MEND = "mend it, or take it from the repository's history; SkillHub leaves it as it is"


def locked_names(text: str | None, path: str) -> frozenset[str]:
    """Return the skills that the lock at `path` names; none where there is no lock. Raises LockUnreadable."""
    return frozenset(_read(text, path)[_SKILLS]) if text is not None else frozenset()


def without_entries(text: str | None, names: Collection[str], path: str) -> str | None:
    """Return the lock without the entries of `names`; the same text where it has none. Raises LockUnreadable."""
    if text is None:
        return None
    lock = _read(text, path)
    if not lock[_SKILLS].keys() & set(names):
        return text
    return _written({**lock, _SKILLS: {name: entry for name, entry in lock[_SKILLS].items() if name not in names}})


def with_entries_of(before: str | None, names: Collection[str], text: str | None, path: str) -> str | None:
    """Return the lock `text` with the entries that `names` have in the lock `before`. Raises LockUnreadable."""
    if before is None:
        return text
    found = {name: entry for name, entry in _read(before, path)[_SKILLS].items() if name in names}
    if not found:
        return text
    lock: dict[str, Any] = {"version": _VERSION, _SKILLS: {}} if text is None else _read(text, path)
    return _written({**lock, _SKILLS: dict(sorted({**lock[_SKILLS], **found}.items()))})


def _read(text: str, path: str) -> dict[str, Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            raise LockUnreadable(
                path, "it has the markers of a merge", line=number, hint="settle the merge, then retry"
            )
    try:
        lock = read_json(text)
    except BadJson as error:
        raise LockUnreadable(path, str(error), hint=_MEND) from error
    if not isinstance(lock, dict) or not isinstance(lock.get(_SKILLS), dict):
        raise LockUnreadable(path, "it has no object of skills", hint=_MEND)
    if lock.get("version") != _VERSION:
        reason = f"it has the version {lock.get('version')!r}, and this SkillHub writes {_VERSION}"
        raise LockUnreadable(path, reason, hint="update SkillHub, or change the lock with the program that wrote it")
    return lock


def _written(lock: dict[str, Any]) -> str:
    return json.dumps(lock, indent=2, ensure_ascii=False) + "\n"
