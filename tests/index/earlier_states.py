"""State files as earlier releases wrote them: one document, with every entry in it by its absolute directory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillhub_mcp.index.keys import LibraryKeys
from skillhub_mcp.index.state import PublishedTable, load_state, remove_state, save_state, state_path
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


def write_as_schema_3(db_path: Path, *, with_id: bool = True) -> None:
    """Put in the place of a database and its state what a release whose rows had directories would have written.

    Vectors stay, roots of several servers, and the table's id, if it is to be one of those `with_id`.
    """
    import lancedb
    import pyarrow as pa

    path = state_path(str(db_path))
    state = load_state(path)
    assert state is not None
    keys = LibraryKeys({root: own.label for root, own in state.roots.items()})
    connection = lancedb.connect(str(db_path))
    table = connection.open_table(state.table.name)
    table.checkout(state.table_version)
    rows = table.to_arrow()
    found = rows.column("path").to_pylist()
    names = rows.schema.names
    for name, values in (("path", keys.directories(found)), ("root", [keys.root(key) for key in found])):
        rows = rows.set_column(names.index(name), rows.schema.field(name), pa.array(values, pa.string()))
    schema = rows.schema.with_metadata({b"skillhub.table_id": state.table.id.encode()} if with_id else {})
    earlier = connection.create_table(
        state.table.name, data=rows.cast(schema), schema=schema, mode="overwrite", on_bad_vectors="null"
    )
    for field in ("name", "description", "tags_text", "category"):
        earlier.create_index(field, config=lancedb.index.FTS(base_tokenizer="icu/split"))
    for kept in db_path.glob("*.arrays"):
        kept.unlink()
    for kept in db_path.glob("checksums-*"):
        kept.unlink()
    for kept in db_path.glob("statistics-*"):
        kept.unlink()
    table_id = state.table.id if with_id else ""
    named = PublishedTable(state.table.name, table_id)
    save_state(path, replace(state, schema=3, table=named, table_version=earlier.version))


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
