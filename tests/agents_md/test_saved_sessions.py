"""The states of sessions in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillhub_mcp.agents_md.schema import AgentsState
from skillhub_mcp.agents_md.session import SavedSessions


def state(cwd: str) -> AgentsState:
    return AgentsState(cwd=cwd, root="/r", markers=(".git",), covered=("/r",), loaded={"/r/AGENTS.md": 5})


def test_a_state_is_found_by_handle_and_caller(tmp_path: Path) -> None:
    saved = SavedSessions(str(tmp_path / "sessions"))
    assert saved.find("h", caller="") is None
    saved.save("h", state("/r/a"), caller="ada")
    saved.save("h", state("/r/b"), caller="")
    # Another process shares only the directory.
    other = SavedSessions(str(tmp_path / "sessions"))
    assert other.find("h", caller="ada") == state("/r/a")
    assert other.find("h", caller="") == state("/r/b")
    assert other.find("h", caller="bob") is None
    assert other.find("hada", caller="") is None
    saved.save("h", state("/r/c"), caller="ada")
    assert other.find("h", caller="ada") == state("/r/c")


@pytest.mark.parametrize("content", [b"", b"{", b'{"cwd": 1}', b'{"cwd": "/", "root": "/", "markers": [], "more": 1}'])
def test_an_invalid_state_is_ignored(tmp_path: Path, content: bytes) -> None:
    saved = SavedSessions(str(tmp_path))
    saved.save("h", state("/r"), caller="")
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert saved.find("h", caller="") is None
