"""Directories for what is needed for a moment: nobody else's, gone at the end, and those of killed processes, too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from skillhub_mcp import scratch
from skillhub_mcp.scratch import scratch_directory

needs_locks = pytest.mark.skipif(os.name == "nt", reason="there are no locks that end with a process")

_HOLDER = """
import os, sys
from skillhub_mcp.scratch import scratch_directory
with scratch_directory("look") as place:
    os.makedirs(os.path.join(place, "a", "b"))
    os.symlink(sys.argv[1], os.path.join(place, "link"))
    print(place, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary


@pytest.fixture
def holders(temporary: Path, tmp_path: Path) -> Iterator[ExitStack]:
    """Ends every process that was started."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("mine")
    with ExitStack() as stack:
        yield stack


def holder(stack: ExitStack, temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Return a process that has a directory, and that directory."""
    command = [sys.executable, "-c", _HOLDER, str(temporary.parent / "outside")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip()).parent


def killed(stack: ExitStack, temporary: Path) -> Path:
    """Return the directory that a process left when it was killed."""
    process, place = holder(stack, temporary)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    assert (place / "files" / "a").is_dir()
    return place


def test_it_is_empty_its_users_alone_and_gone_at_the_end_with_all_that_is_in_it(temporary: Path) -> None:
    with scratch_directory("look") as place:
        assert os.listdir(place) == []
        if os.name != "nt":
            assert [one.stat().st_mode & 0o777 for one in (Path(place), Path(place).parent)] == [0o700, 0o700]
        (Path(place) / "pack").write_text("1")
        (Path(place) / "pack").chmod(0o400)
        if os.name != "nt":
            (Path(place) / "closed").mkdir()
            (Path(place) / "closed" / "file").touch()
            (Path(place) / "closed").chmod(0o500)
    assert os.listdir(temporary) == []


@needs_locks
def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_link_in_it_leads_to_is_not(
    holders: ExitStack, temporary: Path
) -> None:
    left, (running, other) = killed(holders, temporary), holder(holders, temporary)
    # The second process removed it when it began; another one is killed meanwhile.
    assert not left.exists()
    left = killed(holders, temporary)
    with scratch_directory("git"), scratch_directory("git"):
        assert not left.exists()
        assert (other / "files" / "link").is_symlink()
        assert len(os.listdir(temporary)) == 3
    assert running.stdin is not None
    running.stdin.close()
    assert running.wait(30) == 0
    assert os.listdir(temporary) == []
    assert (temporary.parent / "outside" / "kept").read_text() == "mine"


@needs_locks
def test_what_is_not_surely_of_a_killed_process_of_this_user_stays(
    holders: ExitStack, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = killed(holders, temporary)
    moved = temporary.parent / "moved"
    left.rename(moved)
    (temporary / "skillhub-look-abcdefgh").symlink_to(moved)
    (temporary / "skillhub-look-begun123").mkdir(mode=0o700)
    (temporary / "skillhub-look-open1234").mkdir(mode=0o700)
    (temporary / "skillhub-look-open1234" / ".skillhub-held").touch()
    (temporary / "skillhub-look-open1234").chmod(0o755)
    (temporary / "skillhub-own").mkdir()
    (temporary / "skillhub-own" / ".skillhub-held").touch()
    before = sorted(os.listdir(temporary))
    with scratch_directory("look"):
        pass
    assert sorted(os.listdir(temporary)) == before
    assert (moved / "files" / "a").is_dir()
    (temporary / "skillhub-look-abcdefgh").unlink()
    moved.rename(left)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with scratch_directory("look"):
        pass
    assert left.exists()


@needs_locks
@pytest.mark.skipif(not shutil.rmtree.avoids_symlink_attacks, reason="nothing is removed but by its path")
def test_what_a_command_puts_into_a_directory_of_such_a_name_leads_nobody_out_of_it(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The directory that is a confined command's own has such a name, and the command may write all that is in it.
    planted, outside = temporary / "skillhub-run-abcdefgh", temporary.parent / "outside"
    (planted / "files" / "a").mkdir(parents=True)
    planted.chmod(0o700)
    outside.mkdir(mode=0o755)
    for place in (planted / "files" / "a", outside):
        (place / "kept").write_text("mine")
    (planted / ".skillhub-held").touch()
    unlink = os.unlink

    def fails_while_a_link_is_put_there(path: str, *, dir_fd: int | None = None) -> None:
        if path == "kept" and dir_fd is not None:
            (planted / "files" / "a").rename(planted / "moved")
            (planted / "files" / "a").symlink_to(outside)
            raise PermissionError(path)
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", fails_while_a_link_is_put_there)
    with scratch_directory("look"):
        pass
    assert (planted / "files" / "a").is_symlink()
    assert (outside / "kept").read_text() == "mine"
    assert outside.stat().st_mode & 0o777 == 0o755


@needs_locks
def test_what_was_killed_while_it_removed_is_removed_by_the_next(
    holders: ExitStack, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = killed(holders, temporary)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt), scratch_directory("look"):
            pass
    assert left.exists()
    with scratch_directory("look"):
        assert not left.exists()


@needs_locks
def test_of_many_each_start_removes_some(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        place = temporary / f"skillhub-look-{number:08}"
        place.mkdir(mode=0o700)
        (place / ".skillhub-held").touch()
    with scratch_directory("look"):
        assert len(os.listdir(temporary)) == 20 - 8 + 1
    monkeypatch.setattr(scratch, "_MOST_SEEN", 5)
    with scratch_directory("look"):
        assert len(os.listdir(temporary)) == 20 - 8 - 5 + 1


@needs_locks
def test_many_that_start_at_once_beside_what_was_left_keep_their_own(temporary: Path) -> None:
    def one(number: int) -> bool:
        place = temporary / f"skillhub-look-{number:08}"
        place.mkdir(mode=0o700)
        (place / ".skillhub-held").touch()
        with scratch_directory("look") as own:
            (Path(own) / "file").write_text("1")
            with scratch_directory("look"):
                return (Path(own) / "file").read_text() == "1"

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(one, range(200)))
    while any(temporary.iterdir()):
        with scratch_directory("look"):
            pass


def test_where_there_are_no_locks_it_is_as_before_and_nothing_is_removed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_lock", lambda _: False)
    (temporary / "skillhub-look-00000000").mkdir(mode=0o700)
    (temporary / "skillhub-look-00000000" / ".skillhub-held").touch()
    with scratch_directory("look") as place:
        assert os.listdir(Path(place).parent) == ["files"]
    assert os.listdir(temporary) == ["skillhub-look-00000000"]
