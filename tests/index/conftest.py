"""Processes that an index starts, and a library whose size makes it a large one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from skillhub_mcp.index import entry_columns, state, state_entries


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started from now on."""
    found: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def recorded(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        found.append(start(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", recorded)
    return found


@pytest.fixture
def some_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the entries of a few skills be those of a large library."""
    monkeypatch.setattr(entry_columns, "_ROWS", 3)
    for module in (state_entries, state):
        monkeypatch.setattr(module, "_MANY_BYTES", 0)
