"""Fixtures: parsing one header and scanning a directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import Scan, ScanCache, scan

Looker = Callable[..., Scan]

AN_HOUR_NS = 3_600_000_000_000


@pytest.fixture
def look(skills_dir: Path) -> Looker:
    """Scan `skills_dir`, or the given roots."""

    def look_at(
        *roots: Path, memory: ScanCache | None = None, admission: Admission = LENIENT, reread: bool = False
    ) -> Scan:
        given = [str(root) for root in roots or (skills_dir,)]
        return scan(make_roots(given), memory=memory or {}, admission=admission, reread=reread)

    return look_at


@pytest.fixture
def written_at() -> Callable[[Path, int], None]:
    """Set the mtime of a skill's SKILL.md, in nanoseconds."""

    def set_mtime(skill: Path, mtime_ns: int) -> None:
        os.utime(skill / "SKILL.md", ns=(mtime_ns, mtime_ns))

    return set_mtime
