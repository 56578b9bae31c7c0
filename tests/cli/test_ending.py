"""A command that gets a signal leaves nothing behind."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB
from tests.library.sources.repositories import needs_git

from skillhub_mcp.cli.main import ending_in_order

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a word to it")


@contextmanager
def _fetching(tmp_path: Path, then: str) -> Iterator[tuple[subprocess.Popen[bytes], Mapping[str, str], io.FileIO]]:
    """Yield a command that fetches by an ssh which has begun, and does `then`; its environment; and a pipe.

    The pipe has its end when nothing that git started holds it any longer.
    """
    (tmp_path / "tmp").mkdir()
    os.mkfifo(tmp_path / "began")
    ssh = tmp_path / "ssh"
    # It begins late, so that the command has certainly returned from starting git.
    ssh.write_text(f"#!/bin/sh\nsleep 1\nexec 3> {tmp_path / 'began'}\necho began >&3\n{then}\n")
    ssh.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path / "tmp"),
        "GIT_SSH_COMMAND": str(ssh),
    }
    command = subprocess.Popen([*SKILLHUB, "add", "git@host.invalid:owner/repository.git"], env=environment)
    with open(tmp_path / "began", "rb", buffering=0) as began:
        assert began.read(16) == b"began\n"
        yield command, environment, began


@pytest.mark.slow
@needs_git
def test_a_terminated_fetch_removes_its_files_and_ends_git(tmp_path: Path) -> None:
    with _fetching(tmp_path, "exec sleep 600") as (command, _, began):
        command.send_signal(signal.SIGHUP)
        assert command.wait(30) == 130
        assert list((tmp_path / "tmp").iterdir()) == []
        assert select.select([began], [], [], 30)[0] == [began]
        assert began.read(16) == b""


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    # Another test of the process may have left a handler behind.
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with ending_in_order():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
