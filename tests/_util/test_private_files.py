"""The oldest of many small private files are removed, and file names do not reveal keys."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from skillhub_mcp._util.atomic_write import PrivateFiles


def test_a_file_is_found_by_its_exact_key(tmp_path: Path) -> None:
    files = PrivateFiles(str(tmp_path / "files"), most=9)
    assert files.read(("a", "b")) is None
    files.write(("a", "b"), b"one")
    files.write(("a", ""), b"two")
    # Another process has nothing but the directory.
    other = PrivateFiles(str(tmp_path / "files"), most=9)
    assert (other.read(("a", "b")), other.read(("a", ""))) == (b"one", b"two")
    assert [other.read(key) for key in (("ab", ""), ("a",), ("b", "a"), ("../files/x", ""))] == [None] * 4
    files.write(("a", "b"), b"three")
    assert other.read(("a", "b")) == b"three"
    for _ in range(2):
        other.remove(("a", "b"))
        assert files.read(("a", "b")) is None


def test_file_names_do_not_reveal_keys_and_modes_are_private(tmp_path: Path) -> None:
    PrivateFiles(str(tmp_path / "files"), most=9).write(("handle",), b"content")
    (file,) = (tmp_path / "files").iterdir()
    assert "handle" not in file.name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o700


def test_the_oldest_files_are_removed_above_the_limit(tmp_path: Path) -> None:
    files = PrivateFiles(str(tmp_path), most=3)
    for number in range(5):
        files.write((str(number),), b"")
        for file in tmp_path.iterdir():
            # Each a second older than before, whatever the clock's grain.
            moment = file.stat().st_mtime_ns - 1_000_000_000
            os.utime(file, ns=(moment, moment))
        files.write(("0",), b"")
    assert [number for number in range(5) if files.read((str(number),)) is not None] == [0, 3, 4]
    assert len(list(tmp_path.iterdir())) == 3
