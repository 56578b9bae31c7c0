"""Shared by the publishing tests: files whose stamps are old enough to be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

A_MINUTE_NS = 60_000_000_000

Later = Callable[[], None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Let a minute pass, after which the stamps of files that were just written are believed."""
    now = time.time_ns

    def pass_by() -> None:
        monkeypatch.setattr(time, "time_ns", lambda: now() + A_MINUTE_NS)

    return pass_by
