"""A library whose size makes it a large one for the entries of a publication."""

from __future__ import annotations

import pytest

from skillhub_mcp.index import entry_columns, state, state_entries


@pytest.fixture
def some_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the entries of a few skills be those of a large library."""
    monkeypatch.setattr(entry_columns, "_ROWS", 3)
    for module in (state_entries, state):
        monkeypatch.setattr(module, "_MANY_BYTES", 0)
