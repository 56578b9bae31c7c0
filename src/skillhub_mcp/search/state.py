"""What does the published index hold? `index_state.json`, beside the database (DECISIONS 26).

The file is the commit point of indexing: it names the table version that readers may open, and it is replaced
atomically after that version is complete. For each SKILL.md it keeps mtime, size, content hash and what was
read from it, so that deciding "nothing changed" opens no file and loads no database.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.registry import Memory, Remembered
from skillhub_mcp.skills.rules import Diagnostic, Severity

STATE_FORMAT = 1
STATE_FILE = "index_state.json"
NO_EMBEDDING = "none"


@dataclass(frozen=True, slots=True)
class IndexState:
    """One published index: its table version, its schema, whose embeddings it holds, and the files it covers."""

    schema: int
    embedding: str
    missing_vectors: int  # rows that still wait for an embedding, because the provider failed
    table_version: int
    hashes: Mapping[str, str]  # by root
    memory: Memory


def state_path(db_path: str) -> str:
    """Return where the state of the database at `db_path` is kept."""
    return os.path.join(os.path.dirname(os.path.abspath(db_path)), STATE_FILE)


def load_state(path: str) -> IndexState | None:
    """Return the state at `path`, or None when there is none that can be used (then the index is rebuilt)."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return _from_json(json.load(file))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # A missing, half-written or foreign file means the same: nothing is known, and a rebuild loses nothing.
        return None


def save_state(path: str, state: IndexState) -> None:
    """Replace the state at `path` in one step. Raises OSError, and then the old state is untouched."""
    directory = os.path.dirname(path)
    descriptor, temporary = tempfile.mkstemp(prefix=".index_state-", dir=directory)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(_to_json(state), file, ensure_ascii=False, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def root_hashes(memory: Memory, roots: Iterable[str]) -> dict[str, str]:
    """Return, for each root, seed 002 §4.2's hash of its sorted (relative path, mtime, size, content hash)."""
    lines: dict[str, list[str]] = {root: [] for root in roots}
    for directory, entry in memory.items():
        stamp = entry.stamp
        relative = directory.removeprefix(entry.root).lstrip(os.sep)
        if entry.root in lines:
            lines[entry.root].append(f"{relative}\0{stamp.mtime_ns}\0{stamp.size}\0{stamp.content_hash}")
    return {
        root: hashlib.sha256("\n".join(sorted(own)).encode("utf-8", "surrogateescape")).hexdigest()
        for root, own in lines.items()
    }


def _to_json(state: IndexState) -> dict[str, Any]:
    roots: dict[str, dict[str, Any]] = {root: {"hash": digest, "files": {}} for root, digest in state.hashes.items()}
    for directory, entry in state.memory.items():
        roots[entry.root]["files"][directory] = _file_to_json(entry)
    return {
        "format": STATE_FORMAT,
        "schema": state.schema,
        "embedding": state.embedding,
        "missing_vectors": state.missing_vectors,
        "table_version": state.table_version,
        "roots": roots,
    }


def _file_to_json(entry: Remembered) -> dict[str, Any]:
    stamp = entry.stamp
    written: dict[str, Any] = {
        "mtime_ns": stamp.mtime_ns,
        "size": stamp.size,
        "sha256": stamp.content_hash,
        "read_at_ns": stamp.read_at_ns,
    }
    if entry.diagnostics:
        written["diagnostics"] = [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics]
    if entry.skill is not None:
        written["skill"] = _skill_to_json(entry.skill)
    return written


def _skill_to_json(skill: Skill) -> dict[str, Any]:
    written: dict[str, Any] = {"name": skill.name, "description": skill.description}
    optional = {
        "category": skill.category,
        "tags": list(skill.tags),
        "always_apply": skill.always_apply,
        "allowed_tools": list(skill.allowed_tools),
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
    }
    return written | {key: value for key, value in optional.items() if value}


def _from_json(written: Any) -> IndexState | None:
    if written["format"] != STATE_FORMAT:
        return None
    memory: dict[str, Remembered] = {}
    hashes: dict[str, str] = {}
    for root, own in written["roots"].items():
        hashes[root] = str(own["hash"])
        for directory, file in own["files"].items():
            memory[directory] = _file_from_json(file, directory, root)
    return IndexState(
        schema=int(written["schema"]),
        embedding=str(written["embedding"]),
        missing_vectors=int(written["missing_vectors"]),
        table_version=int(written["table_version"]),
        hashes=hashes,
        memory=memory,
    )


def _file_from_json(file: Mapping[str, Any], directory: str, root: str) -> Remembered:
    stamp = FileStamp(file["mtime_ns"], file["size"], file["sha256"], file["read_at_ns"])
    diagnostics = tuple(
        Diagnostic(rule, Severity(severity), message, hint, line)
        for rule, severity, message, hint, line in file.get("diagnostics", ())
    )
    written = file.get("skill")
    if written is None:
        return Remembered(root, stamp, None, diagnostics)
    skill = Skill(
        name=written["name"],
        description=written["description"],
        directory=directory,
        root=root,
        category=written.get("category"),
        tags=tuple(written.get("tags", ())),
        always_apply=written.get("always_apply", False),
        allowed_tools=tuple(written.get("allowed_tools", ())),
        license=written.get("license"),
        compatibility=written.get("compatibility"),
        metadata=written.get("metadata", {}),
        diagnostics=diagnostics,
        stamp=stamp,
    )
    return Remembered(root, stamp, skill, diagnostics)
