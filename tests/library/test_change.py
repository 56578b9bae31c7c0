from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.library.roots import (
    AFTER,
    LOCK,
    changed,
    install,
    left_behind,
    locked,
    prepared,
    skills_in,
    state_of,
    write_skill,
)

from skillhub_mcp.errors import LibraryBusy, LibraryUnwritable, LockUnreadable, SkillConflict
from skillhub_mcp.library import change
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.removal import remove

Rename = Callable[[str, str], None]


def failing(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException, *, only: bool = True) -> None:
    """Make rename `number` (from 1) fail, and all later ones unless it is the `only` one."""
    done, rename = [0], os.replace

    def counted(source: str, target: str) -> None:
        done[0] += 1
        if done[0] == number or (done[0] > number and not only):
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "replace", counted)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with the installed skills `kept`, `replaced` and `gone`."""
    return prepared(tmp_path)


class TestChange:
    def test_installs_updates_and_removals_match_the_lock(self, root: Path) -> None:
        before = skills_in(root)
        changed(root)
        skills, lock = state_of(root)
        assert skills == lock
        assert list(skills) == ["kept", "new", "replaced"]
        assert skills["kept"] == before["kept"]
        assert skills["replaced"] != before["replaced"]
        assert left_behind(root) == []

    def test_executable_bits_and_the_lock_mode_are_kept(self, root: Path) -> None:
        (root / LOCK).chmod(0o640)
        changed(root)
        assert os.access(root / "new" / "scripts" / "run.sh", os.X_OK)
        assert (root / LOCK).stat().st_mode & 0o777 == 0o640

    def test_an_uncommitted_change_leaves_nothing(self, root: Path) -> None:
        before = state_of(root)

        def interrupted() -> None:
            with changing(os.fspath(root)) as one:
                write_skill(Path(one.staged("new")), "two")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_an_interrupted_change_is_rolled_back(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = state_of(root)
        failing(monkeypatch, 3, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            changed(root)
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_a_linked_root_is_changed_at_its_target(self, root: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(root)
        with changing(os.fspath(link)) as one:
            install(one, AFTER)
        assert link.is_symlink()
        assert "new" in skills_in(root)

    def test_a_linked_lock_is_replaced_at_its_target(self, root: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "dotfiles" / "lock.json"
        elsewhere.parent.mkdir()
        (root / LOCK).rename(elsewhere)
        (root / LOCK).symlink_to(elsewhere)
        changed(root)
        assert (root / LOCK).is_symlink()
        assert locked(root) == skills_in(root)

    def test_a_lock_on_another_file_system_is_replaced(self, root: Path, tmp_path: Path) -> None:
        if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("one file system only")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
            lock = Path(elsewhere, LOCK)
            lock.write_text((root / LOCK).read_text())
            (root / LOCK).unlink()
            (root / LOCK).symlink_to(lock)
            changed(root)
            assert locked(root) == skills_in(root)
            assert os.listdir(elsewhere) == [LOCK]

    def test_an_unwritable_lock_changes_nothing(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(path: str, *_: object, **__: object) -> None:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), f"{path}.new")

        before = state_of(root)
        monkeypatch.setattr(change, "atomic_write", refused)
        with pytest.raises(LibraryUnwritable, match=LOCK):
            changed(root)
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_a_missing_root_is_created_and_its_state_ignored_by_git(self, tmp_path: Path) -> None:
        place = tmp_path / "project" / ".agents" / "skills"
        with changing(os.fspath(place)) as one:
            install(one, {"new": "two"})
        assert list(skills_in(place)) == ["new"]
        assert (place / ".skillhub" / ".gitignore").read_text() == "*\n"

    def test_a_change_that_leaves_the_lock_alone_is_committed(self, root: Path) -> None:
        with changing(os.fspath(root)) as one:
            one.commit({}, ["gone", "never-there"], lock_path=os.fspath(root / LOCK), lock_text=None)
        assert list(skills_in(root)) == ["kept", "replaced"]
        assert left_behind(root) == []


def refusal_of(root: Path) -> LibraryUnwritable | None:
    try:
        changed(root)
    except LibraryUnwritable as error:
        return error
    return None


def test_a_full_disk_at_any_step_leaves_the_root_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number, refused = 0, True
    while refused:
        number += 1
        root = prepared(tmp_path / str(number))
        before = state_of(root)
        with monkeypatch.context() as patched:
            failing(patched, number, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            error = refusal_of(root)
        refused = error is not None
        if error is not None:
            assert "No space left on device; nothing was changed" in error.message
            assert "free space" in str(error.hint)
            assert state_of(root) == before
        assert left_behind(root) == []
        assert skills_in(root) == locked(root)
    assert number > 4


def test_an_unwritable_root_is_reported_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(LibraryUnwritable) as caught, changing(os.fspath(tmp_path)):
        pass
    assert caught.value.message == f"{tmp_path}/.skillhub cannot be written: Read-only file system; nothing was changed"
    assert caught.value.hint is not None
    assert list(tmp_path.iterdir()) == []


def test_a_second_command_waits_for_the_first_and_says_so(root: Path) -> None:
    before = state_of(root)
    with changing(os.fspath(root)), pytest.raises(LibraryBusy), changing(os.fspath(root), wait_seconds=0.1):
        pass
    assert state_of(root) == before
    assert change.WAIT_SECONDS < 10


class TestObstacles:
    @pytest.mark.parametrize("removals", [[], ["file"]])
    def test_a_file_in_place_of_a_skill_is_refused(self, root: Path, removals: list[str]) -> None:
        (root / "file").write_text("mine")
        with pytest.raises(SkillConflict, match="but a file"), changing(os.fspath(root)) as one:
            install(one, {} if removals else {"file": "two"}, removals=removals)
        assert (root / "file").read_text() == "mine"

    @pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a\0b"])
    def test_a_name_that_leads_out_of_the_root_is_refused(self, root: Path, name: str) -> None:
        with changing(os.fspath(root)) as one:
            with pytest.raises(ValueError, match="not the name"):
                one.staged(name)
            with pytest.raises(ValueError, match="not the name"):
                one.commit({}, [name])

    @pytest.mark.parametrize("name", ["", "staging", "trash", "lock"])
    def test_a_link_in_place_of_the_state_directory_is_not_followed(
        self, root: Path, tmp_path: Path, name: str
    ) -> None:
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        there = root / ".skillhub" / name if name else root / ".skillhub"
        there.rename(tmp_path / "before") if there.exists() else None
        there.symlink_to(precious if name != "lock" else precious / "file")
        with pytest.raises(LibraryUnwritable, match="it is not a"):
            changed(root)
        assert [one.read_text() for one in precious.iterdir()] == ["mine"]

    def test_a_lock_that_is_a_pipe_does_not_block(self, root: Path) -> None:
        (root / LOCK).unlink()
        os.mkfifo(root / LOCK)
        with pytest.raises(LockUnreadable, match="not a regular file"):
            remove(os.fspath(root), os.fspath(root / LOCK), ["kept"])

    def test_removing_a_linked_skill_keeps_its_target(self, root: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        write_skill(elsewhere, "mine")
        for name in ("linked", "replaced"):
            (root / name).rename(tmp_path / "away") if (root / name).exists() else None
            (root / name).symlink_to(elsewhere)
        with changing(os.fspath(root)) as one:
            install(one, {"replaced": "two"}, removals=["linked"])
        assert not os.path.lexists(root / "linked")
        assert not (root / "replaced").is_symlink()
        for _ in range(12):
            with changing(os.fspath(root)) as one:
                install(one, {"kept": os.urandom(4).hex()})
        # By now it has left the trash too.
        assert (elsewhere / "SKILL.md").exists()

    def test_a_root_that_is_itself_a_skill_is_refused(self, tmp_path: Path) -> None:
        write_skill(tmp_path / "pdf", "one")
        with pytest.raises(SkillConflict, match="is itself a skill"), changing(os.fspath(tmp_path / "pdf")):
            pass
        assert not (tmp_path / "pdf" / ".skillhub").exists()

    def test_a_root_that_is_a_file_or_a_dangling_link_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "link").symlink_to(tmp_path / "not-mounted")
        for name in ("file", "link"):
            with pytest.raises(LibraryUnwritable), changing(os.fspath(tmp_path / name)):
                pass
        assert not (tmp_path / "not-mounted").exists()


def test_a_failing_disk_during_a_rollback_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 3, OSError(errno.EIO, os.strerror(errno.EIO)), only=False)
    with pytest.raises(LibraryUnwritable) as caught:
        changed(root)
    assert "nothing was changed" not in caught.value.message
    assert "skillhub verify" in str(caught.value.hint)
