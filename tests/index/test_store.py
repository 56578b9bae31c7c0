"""Merging of changed rows and removal of old table versions."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from tests.search.builders import make_skill, row, search_index

from skillhub_mcp.index import store
from skillhub_mcp.index.store import Store, manifest_name


def test_at_rest_rows_are_merged_and_replaced_versions_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = search_index(tmp_path, [make_skill("one"), make_skill("two")]).table
    table = Store(str(tmp_path / "db"), "skills")

    def versions() -> set[str]:
        return {name for name in os.listdir(tmp_path / "db" / "skills.lance" / "_versions") if "manifest" in name}

    rows = pa.Table.from_pylist([row(make_skill("one", "Other."))], schema=first.schema)
    changed = table.update(first.version, [rows], removed=[])
    assert changed.unmerged() == 1
    assert table.tidy(changed.version) is None
    assert {manifest_name(first.version), manifest_name(changed.version)} <= versions()
    time.sleep(1.2)
    monkeypatch.setattr(store, "KEPT_SECONDS", 1.0)
    merged = table.tidy(changed.version)
    assert merged is not None
    assert merged.unmerged() == 0
    # Its readers learn of the merged version only now.
    assert manifest_name(changed.version) in versions()
    time.sleep(1.2)
    table.tidy(merged.version)
    assert manifest_name(merged.version) in versions()
    assert not versions() & {manifest_name(first.version), manifest_name(changed.version)}
    assert table.tidy(merged.version) is None
