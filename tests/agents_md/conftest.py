"""A project in which tests write AGENTS.md files with given mtimes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(project: Path) -> Write:
    """Write the AGENTS.md of a directory below the root; `mtime_ms` says when."""

    def go(directory: str, content: str | bytes = "Be kind.\n", *, mtime_ms: int | None = None) -> Path:
        path = project / directory / "AGENTS.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mtime_ms is not None:
            os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))
        return path

    return go
