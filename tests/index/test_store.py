"""Which versions of a table are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from skillhub_mcp.index.store import KEPT_SECONDS, manifest_name, replaced_versions

LONG = KEPT_SECONDS + 5


def replaced(table: Path, committed: int, **ages: float) -> list[str]:
    """The versions to remove among those that were written so many seconds ago."""
    (table / "_versions").mkdir(exist_ok=True)
    (table / "_versions" / "d1.manifest").touch()
    for name, age in ages.items():
        path = table / "_versions" / manifest_name(int(name[1:]))
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    names = {str(table / "_versions" / manifest_name(int(name[1:]))): name for name in ages}
    return [names[path] for path in replaced_versions(str(table), committed)]


def test_a_version_is_removed_some_time_after_it_was_replaced(tmp_path: Path) -> None:
    # Version 3 was read until a second ago, however old it is.
    assert replaced(tmp_path, 4, v1=900, v2=800, v3=LONG, v4=1) == ["v1", "v2"]


def test_the_committed_version_and_later_ones_stay_at_any_age(tmp_path: Path) -> None:
    assert replaced(tmp_path, 2, v1=900, v2=800, v3=700, v4=600) == ["v1"]
