"""Who else may read and write what is made here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillhub_mcp.file_modes import make_private, make_private_directory, private_mode


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_directory_is_made_private_with_those_above_it_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    make_private_directory(str(tmp_path / "a" / "b"))
    make_private_directory(str(tmp_path / "a" / "b"))
    assert (mode_of(tmp_path / "a"), mode_of(tmp_path / "a" / "b")) == (0o700, 0o700)
    assert private_mode(str(tmp_path / "a")) == 0o600


def test_what_a_group_shares_by_its_directory_stays_the_groups(tmp_path: Path, umask: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    make_private_directory(str(shared / "index"))
    made = mode_of(shared / "index")
    assert (made & 0o007, made & 0o070) == (0, 0o070 & ~umask)
    assert private_mode(str(shared)) is None
    (shared / "state").write_text("")
    (shared / "state").chmod(0o664)
    make_private([str(shared), str(shared / "state")])
    assert (mode_of(shared), mode_of(shared / "state")) == (0o2770, 0o660)


def test_what_others_could_read_is_made_private_and_nothing_else_is_touched(tmp_path: Path) -> None:
    theirs, file, directory = tmp_path / "theirs", tmp_path / "file", tmp_path / "directory"
    for one in (theirs, file):
        one.write_text("")
        one.chmod(0o644)
    directory.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(theirs)
    make_private(map(str, (file, directory, tmp_path / "link", tmp_path / "missing")))
    assert (mode_of(file), mode_of(directory), mode_of(theirs)) == (0o600, 0o700, 0o644)


def test_a_file_in_the_place_of_a_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_private_directory(str(tmp_path / "file"))
