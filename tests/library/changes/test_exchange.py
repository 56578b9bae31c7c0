from __future__ import annotations

import errno
import os
import platform
import sys
from pathlib import Path

import pytest

from skillhub_mcp.library.changes import exchange as calls
from skillhub_mcp.library.changes.exchange import exchange, move


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "what").write_text(name)
    return tmp_path / "one", tmp_path / "two"


def test_two_directories_change_places(two: tuple[Path, Path]) -> None:
    one, other = two
    if not exchange(os.fspath(one), os.fspath(other)):
        pytest.skip("no exchange in one step here")
    assert [(place / "what").read_text() for place in two] == ["two", "one"]


def test_a_link_is_exchanged_itself(two: tuple[Path, Path], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(two[1])
    if not exchange(os.fspath(two[0]), os.fspath(link)):
        pytest.skip("no exchange in one step here")
    assert os.readlink(two[0]) == os.fspath(two[1])
    assert (link / "what").read_text() == "one"


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS])
def test_a_system_that_knows_no_exchange_says_so_and_moves_by_other_means(
    two: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    for answer in (lambda: None, lambda: lambda *_: code):
        monkeypatch.setattr(calls, "_rename_with_flags", answer)
        assert exchange(*map(os.fspath, two)) is False
    move(os.fspath(two[0]), os.fspath(tmp_path / "there"))
    assert (tmp_path / "there" / "what").read_text() == "one"
    with pytest.raises(FileExistsError):
        move(os.fspath(two[1]), os.fspath(tmp_path / "there"))


def test_nothing_is_moved_onto_something(two: tuple[Path, Path]) -> None:
    (two[1] / "what").unlink()
    with pytest.raises(FileExistsError):
        # rename(2) alone would replace an empty directory.
        move(*map(os.fspath, two))
    assert (two[0] / "what").exists()


def test_what_is_not_there_cannot_be_exchanged(two: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        move(os.fspath(tmp_path / "nothing"), os.fspath(tmp_path / "there"))
    if exchange(*map(os.fspath, two)):
        with pytest.raises(FileNotFoundError):
            exchange(os.fspath(two[0]), os.fspath(tmp_path / "nothing"))


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() not in calls._NUMBERS, reason="Linux has the number")
def test_a_c_library_without_a_name_for_it_is_passed_by(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)

    class Musl:
        syscall = library.syscall

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Musl())
    call = calls._of_linux()
    assert call is not None
    assert call(os.fsencode(two[0]), os.fsencode(two[1]), calls._EXCHANGE) == 0
    assert [(place / "what").read_text() for place in two] == ["two", "one"]
    assert call(os.fsencode(two[0]), b"/nowhere/at/all", calls._EXCHANGE) == errno.ENOENT
