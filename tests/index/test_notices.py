"""Notices from a process of their own: what it is given to know, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import skillhub_mcp
from skillhub_mcp.index.notices import Notice, notices_from_outside

MAIN = str(Path(skillhub_mcp.__file__).with_name("__main__.py"))


def test_what_changed_and_what_is_gone_is_told_once_all_is_watched(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    end, watched = threading.Event(), threading.Event()
    told = notices_from_outside([str(tmp_path)], end, watched.set)
    # With the end of a line in its name.
    strange = tmp_path / "a\nb"

    def change() -> None:
        watched.wait()
        strange.mkdir()

    threading.Thread(target=change).start()
    assert next(told) == {Notice(str(strange), deleted=False)}
    strange.rmdir()
    assert next(told) == {Notice(str(strange), deleted=True)}
    end.set()
    assert list(told) == []
    assert started[0].returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="another process's environment is read in /proc")
def test_it_gets_no_key_of_a_provider(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    end, environments = threading.Event(), []

    def ended() -> None:
        environments.append(Path(f"/proc/{started[0].pid}/environ").read_bytes())
        end.set()

    assert list(notices_from_outside([str(tmp_path)], end, ended)) == []
    assert b"PATH=" in environments[0]
    assert b"sk-secret" not in environments[0]


def test_that_it_was_killed_is_told(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    def kill() -> None:
        started[0].kill()

    told = notices_from_outside([str(tmp_path)], threading.Event(), kill)
    with pytest.raises(OSError, match="has ended"):
        next(told)


@pytest.mark.skipif(os.name != "posix", reason="the limit is POSIX's")
def test_what_cannot_be_watched_is_told_with_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    start = subprocess.Popen
    # As where all that the user may open is open: Python starts with that, and no watch can be set.
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (5, 5))
    monkeypatch.setattr(subprocess, "Popen", partial(start, preexec_fn=few))
    with pytest.raises(OSError, match=r"[Tt]oo many open files"):
        next(notices_from_outside([str(tmp_path)], threading.Event(), lambda: None))


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    watching = subprocess.Popen([sys.executable, MAIN, "__watch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert watching.stdin is not None
    assert watching.stdout is not None
    watching.stdin.write(json.dumps([str(tmp_path)]).encode() + b"\n")
    watching.stdin.flush()
    assert watching.stdout.readline() == b"null\n"
    watching.stdin.close()
    assert watching.stdout.read() == b""
    watching.stdout.close()
    assert watching.wait(20.0) == 0
