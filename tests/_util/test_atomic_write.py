"""A file is replaced whole or not at all."""

import errno
import os
import stat
from pathlib import Path
from typing import NoReturn

import pytest

from skillhub_mcp._util.atomic_write import atomic_write


def test_a_file_is_created_and_replaced(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    first = atomic_write(str(place), b"first")
    second = atomic_write(str(place), b"second")
    assert place.read_bytes() == b"second"
    assert second.st_ino == place.stat().st_ino != first.st_ino
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "kept" / "rules.json", tmp_path / "rules.json"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    atomic_write(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    place = tmp_path / "secret"
    before = os.umask(0)
    try:
        atomic_write(str(place), b"x", mode=0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("locked", [False, True])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, locked: bool
) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("old")

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(str(place), b"new", locked=locked)
    assert place.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_a_new_file_is_set(tmp_path: Path) -> None:
    place = tmp_path / "theirs"
    atomic_write(str(place), b"x", mode=0o640, owner=(1234, 2345))
    status = place.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


@pytest.mark.parametrize("mode", [None, 0o600])
def test_a_link_at_the_temporary_path_is_not_followed(tmp_path: Path, mode: int | None) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    (tmp_path / "notes.txt.new").symlink_to(theirs)
    atomic_write(str(tmp_path / "notes.txt"), b"new", mode=mode, locked=True)
    assert (theirs.read_text(), (tmp_path / "notes.txt").read_text()) == ("kept", "new")
    assert not os.path.lexists(tmp_path / "notes.txt.new")
