"""Processes that an index starts."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest


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
