from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from tests.library.changes.kills import AFTER, CountedDisk, change, prepared
from tests.library.changes.roots import LOCK, install, left_behind, lock_text, locked, skills_in, state_of, write_skill

from skillhub_mcp.errors import IntegrityFailed, LibraryBusy, LibraryUnwritable, LockUnreadable, SkillConflict
from skillhub_mcp.library.changes import transaction
from skillhub_mcp.library.changes.disk import Disk
from skillhub_mcp.library.changes.fingerprint import see
from skillhub_mcp.library.changes.transaction import changing
from skillhub_mcp.library.removal import remove

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with the installed skills `kept`, `replaced` and `gone`."""
    return prepared(tmp_path)


class TestAChange:
    def test_brings_in_replaces_and_removes_and_the_lock_and_the_receipts_say_the_same(self, root: Path) -> None:
        before = skills_in(root)
        change(root, Disk())
        skills, lock, receipts = state_of(root)
        assert skills == lock == receipts
        assert list(skills) == ["kept", "new", "replaced"]
        assert skills["kept"] == before["kept"]
        assert skills["replaced"] != before["replaced"]
        assert left_behind(root) == []

    def test_keeps_executable_bits_and_the_locks_own_permissions(self, root: Path) -> None:
        (root / LOCK).chmod(0o640)
        change(root, Disk())
        assert os.access(root / "new" / "scripts" / "run.sh", os.X_OK)
        assert (root / LOCK).stat().st_mode & 0o777 == 0o640

    def test_of_which_one_skill_is_not_as_promised_changes_nothing(self, root: Path) -> None:
        before = state_of(root)
        with changing(os.fspath(root)) as one:
            staged = {name: one.staged(name) for name in ("kept", "new")}
            for place in staged.values():
                write_skill(Path(place), "two")
            promised = {"kept": see(staged["kept"]).digest, "new": f"sha256:{'0' * 64}"}
            with pytest.raises(IntegrityFailed):
                one.commit(promised, lock_path=os.fspath(root / LOCK), lock_text="{}")
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_that_is_not_committed_leaves_nothing(self, root: Path) -> None:
        before = state_of(root)

        def interrupted() -> None:
            with changing(os.fspath(root)) as one:
                write_skill(Path(one.staged("new")), "two")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_that_is_interrupted_by_a_person_is_taken_back(self, root: Path) -> None:
        class Interrupted(Disk):
            def move(self, source: str, target: str) -> None:
                if os.path.basename(target) == "gone":
                    raise KeyboardInterrupt
                super().move(source, target)

        before = state_of(root)
        with pytest.raises(KeyboardInterrupt):
            change(root, Interrupted())
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_of_a_root_that_is_a_link_is_one_of_what_it_leads_to(self, root: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(root)
        with changing(os.fspath(link)) as one:
            install(one, AFTER)
        assert link.is_symlink()
        assert "new" in skills_in(root)

    def test_of_a_lock_that_is_a_link_replaces_what_it_leads_to(self, root: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "dotfiles" / "lock.json"
        elsewhere.parent.mkdir()
        (root / LOCK).rename(elsewhere)
        (root / LOCK).symlink_to(elsewhere)
        change(root, Disk())
        assert (root / LOCK).is_symlink()
        assert locked(root) == skills_in(root)

    def test_of_a_lock_on_another_file_system_replaces_it_all_the_same(self, root: Path, tmp_path: Path) -> None:
        if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("one file system only")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
            lock = Path(elsewhere, LOCK)
            lock.write_text((root / LOCK).read_text())
            (root / LOCK).unlink()
            (root / LOCK).symlink_to(lock)
            change(root, Disk())
            assert locked(root) == skills_in(root)
            assert os.listdir(elsewhere) == [LOCK]

    def test_of_a_lock_that_another_program_wrote_since_it_was_read_is_refused(self, root: Path) -> None:
        before = skills_in(root)
        with changing(os.fspath(root)) as one:
            assert {skill.name for skill in one.read_lock(os.fspath(root / LOCK)).skills} == set(locked(root))
            (root / LOCK).write_text("theirs")
            with pytest.raises(LibraryBusy):
                one.commit({}, ["gone"], lock_path=os.fspath(root / LOCK), lock_text=lock_text({}))
        assert (root / LOCK).read_text() == "theirs"
        assert skills_in(root) == before
        assert left_behind(root) == []

    def test_of_a_lock_that_cannot_be_written_names_the_lock_and_changes_nothing(self, root: Path) -> None:
        class Locked(Disk):
            def replace(self, source: str, target: str) -> None:
                raise OSError(errno.EACCES, os.strerror(errno.EACCES), source, None, target)

        before = state_of(root)
        with pytest.raises(LibraryUnwritable) as caught:
            change(root, Locked())
        assert caught.value.path == os.fspath(root / LOCK)
        assert state_of(root) == before
        assert left_behind(root) == []

    def test_makes_a_root_that_is_not_there_and_ignores_its_own_things_for_git(self, tmp_path: Path) -> None:
        place = tmp_path / "project" / ".agents" / "skills"
        with changing(os.fspath(place)) as one:
            install(one, {"new": "two"})
        assert list(skills_in(place)) == ["new"]
        assert (place / ".skillhub" / ".gitignore").read_text() == "*\n"

    def test_that_leaves_the_lock_as_it_is_is_committed_too(self, root: Path) -> None:
        with changing(os.fspath(root)) as one:
            one.commit({}, ["gone", "never-there"], lock_path=os.fspath(root / LOCK), lock_text=None)
        assert list(skills_in(root)) == ["kept", "replaced"]
        assert left_behind(root) == []

    def test_syncs_what_it_brings_before_it_touches_the_root_and_the_root_before_the_lock(self, root: Path) -> None:
        class Told(Disk):
            def __init__(self) -> None:
                self.steps: list[tuple[str, str]] = []

            def sync(self, path: str) -> None:
                self.steps.append(("sync", path))

            def exchange(self, first: str, second: str) -> bool:
                self.steps.append(("exchange", second))
                return super().exchange(first, second)

            def move(self, source: str, target: str) -> None:
                self.steps.append(("move", target))
                super().move(source, target)

            def replace(self, source: str, target: str) -> None:
                self.steps.append(("replace", target))
                super().replace(source, target)

        disk = Told()
        change(root, disk)
        synced = [path for what, path in disk.steps if what == "sync"]
        staged = next(at for at, step in enumerate(disk.steps) if step[0] != "sync")
        assert Counter(map(os.path.basename, synced[:staged]))["run.sh"] == len(AFTER)
        assert {os.path.basename(path) for path in synced[:staged]} >= {"SKILL.md", "scripts", "replaced", "new"}
        committed = disk.steps.index(("replace", os.fspath(root / LOCK)))
        assert ("sync", os.fspath(root)) in disk.steps[staged:committed]
        assert disk.steps[committed + 1] == ("sync", os.fspath(root))


class Broken(CountedDisk):
    """A disk on which the step `at`, and it alone, fails as a full one does."""

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refusal_of(root: Path, disk: Disk) -> LibraryUnwritable | None:
    try:
        change(root, disk)
    except LibraryUnwritable as error:
        return error
    return None


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_disk_that_is_full_at_any_step_leaves_the_root_as_it_was(tmp_path: Path, *, exchanges: bool) -> None:
    at, told = 0, 0
    while True:
        at += 1
        root = prepared(tmp_path / str(at))
        before = state_of(root)
        disk = Broken(at, exchanges=exchanges)
        said = refusal_of(root, disk)
        if said is not None:
            told += 1
            assert "No space left on device; nothing was changed" in said.message
            assert said.hint is not None
            assert "free space" in said.hint
            assert state_of(root) == before
        else:
            # Behind the commit, what is left of tidying is the next command's.
            assert set(skills_in(root)) == {"kept", "new", "replaced"}
        with changing(os.fspath(root)):
            pass
        assert left_behind(root) == []
        assert skills_in(root) == locked(root)
        if disk._left > 0:
            break
    assert told >= 12


def test_a_disk_that_is_full_while_a_skill_is_unpacked_is_told_the_same_way(root: Path) -> None:
    before = state_of(root)

    def unpack() -> None:
        with changing(os.fspath(root)) as one:
            write_skill(Path(one.staged("new")), "two")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(LibraryUnwritable, match="No space left on device; nothing was changed"):
        unpack()
    assert state_of(root) == before
    assert left_behind(root) == []


def test_a_root_that_cannot_be_written_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(LibraryUnwritable) as caught, changing(os.fspath(tmp_path)):
        pass
    assert caught.value.message == f"{tmp_path}/.skillhub cannot be written: Read-only file system; nothing was changed"
    assert caught.value.hint is not None
    assert list(tmp_path.iterdir()) == []


def test_while_another_command_changes_a_root_one_waits_and_is_told(root: Path) -> None:
    before = state_of(root)
    with changing(os.fspath(root)), pytest.raises(LibraryBusy), changing(os.fspath(root), wait_seconds=0.1):
        pass
    assert state_of(root) == before
    assert transaction.WAIT_SECONDS < 10


class TestWhatIsInTheWay:
    def test_a_name_that_differs_in_case_alone(self, root: Path) -> None:
        with pytest.raises(SkillConflict, match="'kept' in letter case"), changing(os.fspath(root)) as one:
            install(one, {"Kept": "two"})
        assert "Kept" not in skills_in(root)

    def test_two_names_that_differ_in_case_alone(self, root: Path) -> None:
        with pytest.raises(SkillConflict, match="letter case"), changing(os.fspath(root)) as one:
            install(one, {"New": "two", "new": "two"})
        assert list(skills_in(root)) == ["gone", "kept", "replaced"]

    @pytest.mark.parametrize("removals", [[], ["file"]])
    def test_a_file_where_a_skill_is_expected(self, root: Path, removals: list[str]) -> None:
        (root / "file").write_text("mine")
        with pytest.raises(SkillConflict, match="but a file"), changing(os.fspath(root)) as one:
            install(one, {} if removals else {"file": "two"}, removals=removals)
        assert (root / "file").read_text() == "mine"

    @pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a\0b"])
    def test_a_name_that_leads_out_of_the_root(self, root: Path, name: str) -> None:
        with changing(os.fspath(root)) as one:
            with pytest.raises(SkillConflict, match="cannot be the name"):
                one.staged(name)
            with pytest.raises(ValueError, match="not the name"):
                one.commit({}, [name])

    @pytest.mark.parametrize("name", ["", "staging", "trash", "receipts", "lock", "journal.json"])
    def test_a_link_where_the_hubs_own_things_are_is_not_followed(self, root: Path, tmp_path: Path, name: str) -> None:
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        there = root / ".skillhub" / name if name else root / ".skillhub"
        there.rename(tmp_path / "before") if there.exists() else None
        there.symlink_to(precious if name not in ("lock", "journal.json") else precious / "file")
        with pytest.raises(LibraryUnwritable, match="it is not a"):
            change(root, Disk())
        assert [one.read_text() for one in precious.iterdir()] == ["mine"]

    def test_a_receipt_or_a_lock_that_is_something_else_is_neither_followed_nor_waited_for(
        self, root: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("mine")
        for name, make in (("gone", lambda path: path.symlink_to(tmp_path / "secret")), ("replaced", os.mkfifo)):
            receipt = root / ".skillhub" / "receipts" / f"{name}.json"
            receipt.unlink()
            make(receipt)
        change(root, Disk())
        assert "mine" not in [one.read_text() for one in (root / ".skillhub" / "trash").rglob("*.json")]
        assert state_of(root)[2].keys() == {"kept", "new", "replaced"}
        (root / LOCK).unlink()
        os.mkfifo(root / LOCK)
        with pytest.raises(LockUnreadable, match="not a regular file"):
            remove(os.fspath(root), os.fspath(root / LOCK), ["kept"])

    def test_a_skill_that_is_a_link_goes_itself_and_what_it_leads_to_stays(self, root: Path, tmp_path: Path) -> None:
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
        # Out of the trash too, by now.
        assert (elsewhere / "SKILL.md").exists()

    def test_a_root_that_is_a_skill_itself_gets_none(self, tmp_path: Path) -> None:
        write_skill(tmp_path / "pdf", "one")
        with pytest.raises(SkillConflict, match="is itself a skill"), changing(os.fspath(tmp_path / "pdf")):
            pass
        assert not (tmp_path / "pdf" / ".skillhub").exists()

    def test_a_root_that_is_a_file_or_a_link_to_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "link").symlink_to(tmp_path / "not-mounted")
        for name in ("file", "link"):
            with pytest.raises(LibraryUnwritable), changing(os.fspath(tmp_path / name)):
                pass
        assert not (tmp_path / "not-mounted").exists()

    def test_a_skill_on_another_file_system_stays_and_so_does_all_else(self, root: Path) -> None:
        class Mounted(Disk):
            def exchange(self, first: str, second: str) -> bool:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), first, None, second)

        before = state_of(root)
        with pytest.raises(LibraryUnwritable, match="cross-device"):
            change(root, Mounted())
        assert state_of(root) == before


def test_where_taking_back_fails_too_the_next_command_does_it(root: Path) -> None:
    class Dying(CountedDisk):
        def _step(self) -> None:
            self._left -= 1
            if self._left <= 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = state_of(root)
    with pytest.raises(LibraryUnwritable) as caught:
        change(root, Dying(14, exchanges=True))
    assert "nothing was changed" not in caught.value.message
    assert state_of(root) != before
    with changing(os.fspath(root)):
        pass
    assert state_of(root) == before
    assert left_behind(root) == []


def test_killed_at_any_step_all_is_old_or_all_is_new_and_nothing_is_left() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.library.changes.kills"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one for one in found if one["is"] == "neither" or one["left"]] == []
    for kind, fewest in (("exchange", 20), ("renames", 20), ("undo", 15)):
        moments = [one["is"] for one in found if one["change"] == kind and not one["mended"]]
        assert len(moments) >= fewest
        # Old up to the commit, and new from there on.
        assert moments == sorted(moments, reverse=True)
        assert set(moments) == {"old", "new"}


def test_the_lock_is_what_the_change_was_given_byte_for_byte(root: Path) -> None:
    text = lock_text({}) + "  \n"
    with changing(os.fspath(root)) as one:
        one.commit({}, ["gone"], lock_path=os.fspath(root / LOCK), lock_text=text)
    assert hashlib.sha256((root / LOCK).read_bytes()).digest() == hashlib.sha256(text.encode()).digest()
