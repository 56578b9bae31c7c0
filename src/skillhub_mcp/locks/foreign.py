"""Where skills came from by the records of other programs: read for their provenance, and never written.

`npx skills -g` and `gh skill` keep `~/.agents/.skill-lock.json`; `gh skill` also writes `metadata.github-*` into the
SKILL.md. Neither is a promise about the files that are there, and anybody may have written either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillhub_mcp._util.safe_json import BadJson, read_json
from skillhub_mcp.environment import expand_home
from skillhub_mcp.locks.plain_files import read_plain
from skillhub_mcp.redaction import redacted

NPX, GH = "npx skills", "gh skill"

_VERSION = 3
_MAX_BYTES = 16 * 1024 * 1024
# What is longer is no source, ref or path of anything: it would fill the line of whoever reads it.
_MAX_CHARACTERS = 1_000
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PATH = re.compile(r"(?i)file:|[./~\\]|[a-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a skill came from: its source, the ref, the path of the skill there, git's id of its tree.

    `by` names the program whose record it is. Each text is empty where the record does not say it, and `source` has no
    secret.
    """

    source: str
    ref: str = ""
    path: str = ""
    tree: str = ""
    by: str = ""

    @property
    def commit(self) -> str:
        """The commit, where the ref is one; else empty."""
        return commit_of(self.ref)


def commit_of(ref: str) -> str:
    """Return a ref that is a commit; empty for any other."""
    return ref if _COMMIT.fullmatch(ref) else ""


def is_path(source: str) -> bool:
    """Whether a source is a path of the machine on which it was written."""
    return _PATH.match(source) is not None


def global_lock_path(environment: Mapping[str, str]) -> str:
    """Return where `npx skills -g` keeps its lock, for a process with this environment."""
    state = environment.get("XDG_STATE_HOME")
    where = os.path.join(state, "skills") if state else os.path.join(expand_home("~"), ".agents")
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
        content = read_plain(path, follow=True, max_bytes=_MAX_BYTES)
        return {} if content is None else parse_global_lock(content.decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return {}


def provenance_of_metadata(metadata: Mapping[str, Any]) -> Provenance | None:
    """Return what `gh skill` wrote into the metadata of a SKILL.md; None where it wrote nothing."""
    repository = _text(metadata.get("github-repo"))
    if not repository:
        return None
    ref, path, tree = (_text(metadata.get(f"github-{key}")) for key in ("ref", "path", "tree-sha"))
    return Provenance(redacted(repository), ref, path, tree, by=GH)


def provenance_of(named: Provenance | None, metadata: Mapping[str, Any]) -> Provenance | None:
    """Return where a skill came from by the global lock's entry for it, if it has one, and by its own metadata.

    The lock was written by a program on this machine, the metadata perhaps by whoever wrote the skill: it adds to the
    lock where both are about the same tree, and else counts where no lock does.
    """
    own = provenance_of_metadata(metadata)
    if named is None or own is None:
        return named or own
    return replace(named, ref=own.ref or named.ref, by=own.by) if named.tree and named.tree == own.tree else named


def _provenance(entry: Any) -> Provenance | None:
    if not isinstance(entry, dict):
        return None
    source = _text(entry.get("sourceUrl")) or _text(entry.get("source"))
    path, tree = (_text(entry.get(key)) for key in ("skillPath", "skillFolderHash"))
    # `gh skill` keeps the same file, and the ref only of what was pinned.
    ref = _text(entry.get("ref")) or _text(entry.get("pinnedRef"))
    by = GH if "pinnedRef" in entry else NPX
    return Provenance(redacted(source), ref, path, tree, by=by) if source else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= _MAX_CHARACTERS else ""
