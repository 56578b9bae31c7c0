"""Who else may write a file."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from skillhub_mcp._util import file_modes
from skillhub_mcp._util.file_modes import (
    Exposure,
    changeable_by_others,
    make_private_directory,
    private_mode,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_directory_and_its_parents_are_private_at_any_umask(tmp_path: Path, umask: int) -> None:
    make_private_directory(str(tmp_path / "a" / "b"))
    make_private_directory(str(tmp_path / "a" / "b"))
    assert (mode_of(tmp_path / "a"), mode_of(tmp_path / "a" / "b")) == (0o700, 0o700)
    assert private_mode(str(tmp_path / "a")) == 0o600


def test_a_directory_below_a_shared_one_stays_shared(tmp_path: Path, umask: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    make_private_directory(str(shared / "index"))
    made = mode_of(shared / "index")
    assert (made & 0o007, made & 0o070) == (0, 0o070 & ~umask)
    assert private_mode(str(shared)) is None


def test_a_file_in_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_private_directory(str(tmp_path / "file"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of this user's, in a directory of theirs, on a machine with other users."""
    monkeypatch.setattr(file_modes, "in_container", lambda: False)
    (tmp_path / "own").mkdir(mode=0o755)
    path = tmp_path / "own" / "rules.json"
    path.write_text("{}")
    path.chmod(0o600)
    return path


def reason(path: Path) -> str:
    found = changeable_by_others(str(path))
    return "" if found is None else found.reason


def test_a_file_is_exposed_if_others_may_write_or_replace_it(file: Path) -> None:
    assert changeable_by_others(str(file)) is None
    file.chmod(0o644)
    assert changeable_by_others(str(file)) is None
    assert changeable_by_others(str(file.with_name("missing"))) is None
    file.chmod(0o666)
    assert changeable_by_others(str(file)) == Exposure(
        str(file), "others may write it (mode 0666)", f"run chmod go-w {file}"
    )
    file.chmod(0o600)
    file.parent.chmod(0o777)
    found = changeable_by_others(str(file))
    assert found is not None
    assert (found.path, found.fix) == (str(file.parent), f"run chmod go-w {file.parent}")
    # Not the path, which a client over HTTP may not read.
    assert found.reason == "others may write to a directory that it is in (mode 0777)"
    file.parent.chmod(0o1777)
    assert changeable_by_others(str(file)) is None


def test_a_link_is_judged_by_its_place_and_its_target(file: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    link = tmp_path / "open" / "rules.json"
    link.symlink_to(file)
    assert reason(link) == ""
    (tmp_path / "open").chmod(0o777)
    assert "a directory that it is in" in reason(link)
    (tmp_path / "open").chmod(0o755)
    file.chmod(0o602)
    assert reason(link) == "others may write it (mode 0602)"


def test_a_private_group_counts_as_its_owner(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.chmod(0o664)
    members: list[str] = []
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_gid=7, pw_name="ann"))
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_gid=7, gr_name="ann", gr_mem=members))
    assert reason(file) == ""
    members.append("bob")
    assert reason(file) == "others may write it (mode 0664)"
    # The users of a container are its own, and so are its groups; the whole world is not.
    monkeypatch.setattr(file_modes, "in_container", lambda: True)
    assert reason(file) == ""
    file.chmod(0o666)
    assert reason(file) == "others may write it (mode 0666)"


def test_a_file_of_another_owner_is_exposed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid() or 4711
    if owner == 4711:
        os.chown(file, owner, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert reason(file) == f"it belongs to another user (uid {owner})"


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no such device")
def test_a_device_is_not_exposed() -> None:
    assert changeable_by_others("/dev/null") is None
