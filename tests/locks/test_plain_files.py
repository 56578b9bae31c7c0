"""Small files of a root that may come with a repository: regular files alone, within a bound, and without waiting."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks.lock_file import read_lock, read_plain

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")


@needs_pipes
def test_a_lock_that_is_a_link_to_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "skills-lock.json").symlink_to(tmp_path / "pipe")
    with pytest.raises(LockUnreadable, match="not a regular file"):
        read_lock(str(tmp_path / "skills-lock.json"))


def test_a_file_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b" " * 11)
    with pytest.raises(OSError, match="more than 10 bytes"):
        read_plain(str(file), max_bytes=10)
    assert read_plain(str(file), max_bytes=11) == b" " * 11
