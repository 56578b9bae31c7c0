"""Removal of old table versions."""

from __future__ import annotations

import os
import time
from pathlib import Path

from skillhub_mcp.index.store import KEPT_SECONDS, manifest_name, replaced_versions

LONG = KEPT_SECONDS + 5


def replaced(table: Path, committed: int, **ages: float) -> list[str]:
    """The versions to remove, by their age in seconds."""
    (table / "_versions").mkdir(exist_ok=True)
    (table / "_versions" / "d1.manifest").touch()
    for name, age in ages.items():
        path = table / "_versions" / manifest_name(int(name[1:]))
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    names = {str(table / "_versions" / manifest_name(int(name[1:]))): name for name in ages}
    return [names[path] for path in replaced_versions(str(table), committed)]


def test_a_replaced_version_is_removed_after_a_delay(tmp_path: Path) -> None:
    # Version 3 was read until a second ago.
    assert replaced(tmp_path, 4, v1=900, v2=800, v3=LONG, v4=1) == ["v1", "v2"]


def test_the_committed_version_and_later_ones_are_always_kept(tmp_path: Path) -> None:
    assert replaced(tmp_path, 2, v1=900, v2=800, v3=700, v4=600) == ["v1"]
