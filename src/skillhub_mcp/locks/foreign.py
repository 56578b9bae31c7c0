"""Where skills came from by the records of other programs, which are not verified.

`npx skills -g` and `gh skill` keep `~/.agents/.skill-lock.json`; `gh skill` also writes `metadata.github-*`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.locks.plain_files import read_plain
from skillhub_mcp.redaction import redacted

NPX, GH = "npx skills", "gh skill"

_VERSION = 3
_MAX_BYTES = 16 * 1024 * 1024
_MAX_CHARACTERS = 1_000
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PATH = re.compile(r"(?i)file:|[./~\\]|[a-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the program `by` says that a skill came from. Unknown texts are empty; `source` has no secret."""

    source: str
    ref: str = ""
    path: str = ""
    by: str = ""

    @property
    def commit(self) -> str:
        """The ref if it is a commit; else empty."""
        return self.ref if _COMMIT.fullmatch(self.ref) else ""


def is_path(source: str) -> bool:
    """Whether a source is a path of the machine on which it was written."""
    return _PATH.match(source) is not None


def global_lock_path(environment: Mapping[str, str]) -> str:
    """Return where `npx skills -g` keeps its lock."""
    state = environment.get("XDG_STATE_HOME")
    where = os.path.join(state, "skills") if state else os.path.join(expand_home("~"), ".agents")
    return os.path.join(where, ".skill-lock.json")


def read_global_lock(path: str) -> Mapping[str, Provenance]:
    """Return where each skill of the lock at `path` came from; nothing if it cannot be read."""
    try:
        content = read_plain(path, follow=True, max_bytes=_MAX_BYTES)
        whole = None if content is None else read_json(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError, BadJson):
        return {}
    version = whole.get("version") if isinstance(whole, dict) else None
    skills = whole.get("skills") if isinstance(whole, dict) else None
    if not isinstance(version, int) or version < _VERSION or not isinstance(skills, dict):
        return {}
    return {name: found for name, entry in skills.items() if (found := _provenance(entry)) is not None}


def provenance_of_metadata(metadata: Mapping[str, Any]) -> Provenance | None:
    """Return what `gh skill` wrote into the metadata of a SKILL.md, if anything."""
    repository, ref, path = (_text(metadata.get(f"github-{key}")) for key in ("repo", "ref", "path"))
    return Provenance(redacted(repository), ref, path, by=GH) if repository else None


def _provenance(entry: Any) -> Provenance | None:
    if not isinstance(entry, dict):
        return None
    source = _text(entry.get("sourceUrl")) or _text(entry.get("source"))
    # `gh skill` keeps the ref of pinned skills only.
    ref = _text(entry.get("ref")) or _text(entry.get("pinnedRef"))
    by = GH if "pinnedRef" in entry else NPX
    return Provenance(redacted(source), ref, _text(entry.get("skillPath")), by=by) if source else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _MAX_CHARACTERS else ""
