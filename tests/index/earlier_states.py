"""State files as earlier releases wrote them: one document, with every entry in it by its absolute directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skillhub_mcp.index.state import load_state, remove_state
from skillhub_mcp.skills.scanner import CachedSkillFile


def write_as_format(number: int, path: Path) -> None:
    """Put in the place of a state file what release of format 3 or 4 would have written."""
    state = load_state(str(path))
    assert state is not None
    whose = {
        "database": state.database,
        "embedder": state.embedder,
        "table": state.table.name,
        "table_id": state.table.id,
    }
    written: dict[str, Any] = {
        "format": number,
        "schema": state.schema,
        "embedding": state.embedding,
        "table_version": state.table_version,
        **(whose if number > 3 else {}),
        "roots": {
            root: {
                "hash": "of another kind",
                "missing_vectors": own.missing_vectors,
                "files": {directory: _file(entry) for directory, entry in own.memory.items()},
            }
            for root, own in state.roots.items()
        },
    }
    remove_state(str(path))
    path.write_text(json.dumps(written), encoding="utf-8")


def _file(entry: CachedSkillFile) -> dict[str, Any]:
    stamp = entry.stamp
    written: dict[str, Any] = {
        "mtime_ns": stamp.mtime_ns,
        "size": stamp.size,
        "sha256": stamp.content_hash,
        "read_at_ns": stamp.read_at_ns,
        "ctime_ns": stamp.ctime_ns,
        "diagnostics": [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics],
    }
    if entry.skill is not None:
        written["skill"] = {"name": entry.skill.name, "description": entry.skill.description}
        written["header"] = [entry.shape.lines, entry.shape.longest, entry.shape.longest_at, entry.shape.markup]
    return written
