"""Where skills came from by the records of other programs: read for their provenance, and never written.

`npx skills -g` and `gh skill` keep `~/.agents/.skill-lock.json`; `gh skill` also writes `metadata.github-*` into the
SKILL.md. Neither is a promise about the files that are there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.foreign_json import BadJson, read_json

_VERSION = 3
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a skill came from: its source, the ref, the path of the skill there, git's id of its tree.

    `by` names the record: `npx skills` or `gh skill`. Each text is empty where the record does not say it.
    """

    source: str
    ref: str = ""
    path: str = ""
    tree: str = ""
    by: str = ""


def global_lock_path(environment: Mapping[str, str]) -> str:
    """Return where `npx skills -g` keeps its lock, for a process with this environment."""
    state = environment.get("XDG_STATE_HOME")
    where = os.path.join(state, "skills") if state else os.path.join(os.path.expanduser("~"), ".agents")
    return os.path.join(where, ".skill-lock.json")


def parse_global_lock(text: str) -> Mapping[str, Provenance]:
    """Return where each skill of a lock of `npx skills -g` came from, by name; nothing for what cannot be read."""
    try:
        whole = read_json(text)
    except BadJson:
        return {}
    version = whole.get("version") if isinstance(whole, dict) else None
    skills = whole.get("skills") if isinstance(whole, dict) else None
    if not isinstance(version, int) or version < _VERSION or not isinstance(skills, dict):
        return {}
    return {name: found for name, entry in skills.items() if (found := _provenance(entry)) is not None}


def read_global_lock(path: str) -> Mapping[str, Provenance]:
    """Return where each skill of the lock at `path` came from; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_global_lock(file.read(_MAX_BYTES))
    except (OSError, UnicodeDecodeError):
        return {}


def provenance_of_metadata(metadata: Mapping[str, Any]) -> Provenance | None:
    """Return what `gh skill` wrote into the metadata of a SKILL.md; None where it wrote nothing."""
    repository = metadata.get("github-repo")
    if not isinstance(repository, str) or not repository:
        return None
    ref, path, tree = (_text(metadata.get(f"github-{key}")) for key in ("ref", "path", "tree-sha"))
    return Provenance(repository, ref, path, tree, by="gh skill")


def _provenance(entry: Any) -> Provenance | None:
    if not isinstance(entry, dict):
        return None
    source = _text(entry.get("sourceUrl")) or _text(entry.get("source"))
    ref, path, tree = (_text(entry.get(key)) for key in ("ref", "skillPath", "skillFolderHash"))
    return Provenance(source, ref, path, tree, by="npx skills") if source else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
