"""The states of sessions in files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from skillhub_mcp.agents_md import saved_sessions
from skillhub_mcp.agents_md.saved_sessions import SavedSessions
from skillhub_mcp.agents_md.schema import AgentsState


def state(cwd: str) -> AgentsState:
    return AgentsState(cwd=cwd, root="/r", markers=(".git",), covered=("/r",), loaded={"/r/AGENTS.md": 5})


def test_a_state_is_found_by_its_handle_and_caller_alone(tmp_path: Path) -> None:
    saved = SavedSessions(str(tmp_path / "sessions"))
    assert saved.find("h", caller="") is None
    saved.save("h", state("/r/a"), caller="ada")
    saved.save("h", state("/r/b"), caller="")
    # Another process has nothing but the directory.
    other = SavedSessions(str(tmp_path / "sessions"))
    assert other.find("h", caller="ada") == state("/r/a")
    assert other.find("h", caller="") == state("/r/b")
    assert other.find("h", caller="bob") is None
    assert other.find("hada", caller="") is None
    saved.save("h", state("/r/c"), caller="ada")
    assert other.find("h", caller="ada") == state("/r/c")


def test_files_tell_no_handle_and_are_the_owners(tmp_path: Path) -> None:
    SavedSessions(str(tmp_path / "sessions")).save("handle", state("/r"), caller="ada")
    (file,) = (tmp_path / "sessions").iterdir()
    assert "handle" not in file.name + file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b'{"cwd": 1}', b'{"cwd": "/", "root": "/", "markers": [], "more": 1}'])
def test_what_is_no_state_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    saved = SavedSessions(str(tmp_path))
    saved.save("h", state("/r"), caller="")
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert saved.find("h", caller="") is None


def test_of_many_sessions_those_saved_longest_ago_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_sessions, "_MAX_SESSIONS", 3)
    saved = SavedSessions(str(tmp_path))
    for number in range(5):
        saved.save(str(number), state("/r"), caller="")
        for file in tmp_path.iterdir():
            # Each a second older than before, whatever the clock's grain.
            moment = file.stat().st_mtime_ns - 1_000_000_000
            os.utime(file, ns=(moment, moment))
        saved.save("0", state("/r"), caller="")
    assert [number for number in range(5) if saved.find(str(number), caller="") is not None] == [0, 3, 4]
    assert len(list(tmp_path.iterdir())) == 3
