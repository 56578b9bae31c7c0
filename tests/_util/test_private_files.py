"""Small files by key, which tell nobody their keys and do not grow without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from skillhub_mcp._util.atomic_write import PrivateFiles


def test_a_file_is_had_by_its_whole_key_alone(tmp_path: Path) -> None:
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


def test_files_tell_no_key_and_are_the_owners(tmp_path: Path) -> None:
    PrivateFiles(str(tmp_path / "files"), most=9).write(("handle",), b"content")
    (file,) = (tmp_path / "files").iterdir()
    assert "handle" not in file.name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "files").stat().st_mode) == 0o700


def test_of_many_files_those_written_longest_ago_are_removed(tmp_path: Path) -> None:
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


def test_a_place_that_is_no_directory_is_an_error_at_writing(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("", encoding="utf-8")
    files = PrivateFiles(str(tmp_path / "files"), most=3)
    assert files.read(("a",)) is None
    with pytest.raises(OSError, match="files"):
        files.write(("a",), b"")


def test_a_file_can_be_removed_and_is_then_like_none(tmp_path: Path) -> None:
    files = PrivateFiles(str(tmp_path), most=9)
    files.write(("a",), b"one")
    files.remove(("a",))
    files.remove(("a",))
    assert files.read(("a",)) is None
