"""Digests that are kept over processes: two objects over one file are two processes."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.locks.locked import lock

from skillhub_mcp.library.verifying import verify_skill
from skillhub_mcp.locks import kept_library
from skillhub_mcp.locks.file_digests import states_of
from skillhub_mcp.locks.kept_digests import KeptDigests
from skillhub_mcp.locks.kept_library import KeptLibrary
from skillhub_mcp.locks.plain_files import read_lock
from skillhub_mcp.locks.states import LockState
from skillhub_mcp.skills.model import FileStamp, Skill

UNCHANGED, EDITED = LockState.UNCHANGED, LockState.EDITED

Process = Callable[[], KeptLibrary]


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written now was written a while ago."""
    now = time.time_ns
    monkeypatch.setattr("skillhub_mcp.locks.file_digests.time.time_ns", lambda: now() + 60_000_000_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where digests are kept: beside an index."""
    (tmp_path / "db").mkdir(mode=0o700)
    return tmp_path / "db" / "digests.sqlite"


@pytest.fixture
def process(path: Path) -> Process:
    return lambda: KeptLibrary(kept=KeptDigests(str(path)))


@pytest.fixture
def skills(write_skill: SkillWriter) -> list[Path]:
    """Two locked skills of two files each."""
    found = [write_skill(name, files={"run.py": name}) for name in ("one", "two")]
    for skill in found:
        lock(skill)
    return found


def states(library: KeptLibrary, skills: list[Path]) -> tuple[list[LockState], int]:
    """Return how the skills stand, and how many files were read for it; then the process ends."""
    found = [library.standing(str(skill)).state for skill in skills]
    library.close()
    return found, library.digests.hashed


def served(directory: Path) -> Skill:
    status = (directory / "SKILL.md").stat()
    stamp = FileStamp(status.st_mtime_ns, status.st_size, "", 0, status.st_ctime_ns)
    place = str(directory), str(directory.parent)
    return Skill(directory.name, "", *place, None, (), False, (), None, None, {}, (), stamp)


def test_a_second_process_hashes_nothing(process: Process, skills: list[Path], path: Path) -> None:
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    written = path.stat().st_mtime_ns
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize("is_named", [True, False])
def test_a_file_that_was_edited_between_is_found_by_the_second(
    process: Process, skills: list[Path], *, is_named: bool
) -> None:
    if not is_named:
        (skills[0].parent / ".skillhub" / "receipts" / "one.json").unlink()
    states(process(), skills)
    before = (skills[0] / "run.py").stat()
    while (skills[0] / "run.py").stat().st_ctime_ns == before.st_ctime_ns:
        (skills[0] / "run.py").write_text("eno")
        os.utime(skills[0] / "run.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    second = process()
    assert second.standing(str(skills[0])).differs.first == ("run.py" if is_named else "")
    assert states(second, skills) == ([EDITED, UNCHANGED], 3)
    (skills[0] / "run.py").write_text("one")
    assert states(process(), skills)[0] == [UNCHANGED] * 2


def test_what_was_added_removed_or_may_be_run_now_is_a_change(process: Process, skills: list[Path]) -> None:
    states(process(), skills)
    (skills[0] / ".new").write_text("1")
    (skills[1] / "run.py").unlink()
    assert states(process(), skills)[0] == [EDITED, EDITED]
    (skills[0] / ".new").unlink()
    assert states(process(), skills)[0] == [UNCHANGED, EDITED]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_that_was_added_or_leads_elsewhere_between_is_seen_and_costs_no_hash(
    process: Process, skills: list[Path]
) -> None:
    (skills[0] / "own").symlink_to("run.py")
    lock(skills[0])
    states(process(), skills)
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)
    (skills[0] / "own").unlink()
    (skills[0] / "own").symlink_to("SKILL.md")
    (skills[1] / "new").symlink_to("run.py")
    second = process()
    assert second.standing(str(skills[0])).differs.changed == ("own",)
    assert second.standing(str(skills[1])).differs.added == ("new",)
    assert states(process(), skills)[0] == [EDITED, EDITED]
    # The lock alone is another: what was kept is of the entry before.
    lock(skills[1])
    assert states(process(), skills)[0] == [EDITED, UNCHANGED]


@pytest.mark.skipif(os.name == "nt", reason="there is no such bit")
def test_a_bit_that_was_turned_between_is_seen(process: Process, skills: list[Path]) -> None:
    states(process(), skills)
    (skills[0] / "run.py").chmod(0o755)
    assert states(process(), skills)[0] == [EDITED, UNCHANGED]


def test_a_lock_that_says_otherwise_by_now_decides(process: Process, skills: list[Path]) -> None:
    states(process(), skills)
    (skills[0] / "run.py").write_text("other")
    assert states(process(), skills)[0] == [EDITED, UNCHANGED]
    lock(skills[0])
    assert states(process(), skills)[0] == [UNCHANGED] * 2
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)


def test_what_was_written_a_moment_ago_is_not_kept(
    process: Process, skills: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_damaged_file_costs_hashing_and_is_written_anew(
    process: Process, skills: list[Path], path: Path, content: bytes
) -> None:
    path.write_bytes(content)
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)


def test_a_torn_file_costs_hashing_and_is_written_anew(process: Process, skills: list[Path], path: Path) -> None:
    states(process(), skills)
    path.write_bytes(path.read_bytes()[:5_000])
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)


@pytest.mark.parametrize("files", ["", "{", "[[1]]", "[5]", '[["run.py", 1, 2, 3, 4, 5, 6]]', "00"])
def test_a_row_that_says_nothing_or_another_digest_withholds_nothing(
    process: Process, skills: list[Path], path: Path, files: str
) -> None:
    states(process(), skills)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE skills SET files = ? WHERE name = ?", (files, b"one"))
        if "00" in files:
            state = list(states_of(str(skills[0]))["run.py"])
            row = f'[["run.py", "{"0" * 64}", {", ".join(map(str, state))}]]'
            database.execute("UPDATE skills SET entry = '', files = ? WHERE name = ?", (row, b"one"))
    database.close()
    assert states(process(), skills)[0] == [UNCHANGED] * 2
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)


def test_a_file_of_a_newer_version_is_neither_used_nor_changed(
    process: Process, skills: list[Path], path: Path
) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    path.chmod(0o600)
    before = path.read_bytes()
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
def test_a_file_that_others_may_write_is_neither_used_nor_written(
    process: Process, skills: list[Path], path: Path
) -> None:
    states(process(), skills)
    path.parent.chmod(0o777)
    before = path.read_bytes()
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert path.read_bytes() == before
    path.parent.chmod(0o700)
    assert states(process(), skills) == ([UNCHANGED] * 2, 0)
    assert path.stat().st_mode & 0o777 == 0o600


def test_where_nothing_can_be_written_what_is_kept_is_used(
    process: Process, skills: list[Path], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states(process(), skills[:1])
    opening = os.open

    def read_only(place: str, flags: int, mode: int = 0o777) -> int:
        if place == str(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), place)
        return opening(place, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    assert states(process(), skills) == ([UNCHANGED] * 2, 2)
    assert states(process(), skills) == ([UNCHANGED] * 2, 2)


def test_without_an_index_nothing_is_kept(process: Process, skills: list[Path], path: Path) -> None:
    path.parent.rmdir()
    assert states(process(), skills) == ([UNCHANGED] * 2, 4)
    assert not path.parent.exists()


def test_several_that_write_at_once_keep_what_each_found(process: Process, write_skill: SkillWriter) -> None:
    skills = [write_skill(f"s{number}") for number in range(8)]
    for skill in skills:
        lock(skill)
    threads = [threading.Thread(target=states, args=(process(), [skill])) for skill in skills]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states(process(), skills) == ([UNCHANGED] * 8, 0)


def test_what_is_gone_is_dropped(process: Process, skills: list[Path], path: Path, write_skill: SkillWriter) -> None:
    states(process(), skills)
    moved = skills[0].parent.rename(skills[0].parent.with_name("moved"))
    other = write_skill("other")
    lock(other)
    states(process(), [other])
    assert kept_names(path) == ["other"]
    states(process(), [moved / "one", moved / "two"])
    (moved / "skills-lock.json").unlink()
    lock(moved / "two")
    for file in (*(moved / "one").iterdir(),):
        file.unlink()
    (moved / "one").rmdir()
    (moved / "two" / "new").write_text("1")
    lock(moved / "two")
    states(process(), [moved / "two"])
    assert kept_names(path) == ["other", "two"]


def test_files_of_a_large_library_go_by_the_stamp_that_a_look_has_until_they_are_returned(
    process: Process, skills: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = process()
    assert [first.differs(served(skill)) for skill in skills] == [None, None]
    first.close()
    # Of a small one each is looked at.
    second = process()
    (skills[0] / "run.py").write_text("other")
    assert second.differs(served(skills[0])) is not None
    (skills[0] / "run.py").write_text("one")
    monkeypatch.setattr(kept_library, "_MOST_LOOKED_AT", 0)
    third = process()
    (skills[0] / "run.py").write_text("other")
    assert third.differs(served(skills[0])) is None
    assert third.differs(served(skills[1])) is None
    assert third.digests.hashed == 0
    assert third.differs(served(skills[0]), now=True) is not None
    assert third.differs(served(skills[0])) is not None
    third.close()
    fourth = process()
    assert fourth.differs(served(skills[0])) is not None
    (skills[1] / "SKILL.md").write_text((skills[1] / "SKILL.md").read_text() + "1")
    assert fourth.differs(served(skills[1])) is not None


def test_whoever_may_write_the_index_can_pass_an_edit_off_as_unchanged_but_not_to_verify(
    process: Process, skills: list[Path], path: Path
) -> None:
    states(process(), skills)
    (skills[0] / "run.py").write_text("other")
    kept = KeptDigests(str(path))
    found = kept.find(str(skills[0]))
    assert found is not None
    state = states_of(str(skills[0]))["run.py"]
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT files FROM skills WHERE name = ?", (b"one",)).fetchone()
        lie = rows[0].replace(str(list(found.files["run.py"].state))[1:-1].replace(" ", ""), ",".join(map(str, state)))
        database.execute("UPDATE skills SET files = ? WHERE name = ?", (lie, b"one"))
    database.close()
    kept.close()
    liar = process()
    assert liar.standing(str(skills[0])).state is UNCHANGED
    assert liar.digests.hashed == 0
    locked = read_lock(str(skills[0].parent / "skills-lock.json"))
    assert locked is not None
    entry = locked.find("one")
    assert entry is not None
    assert verify_skill(str(skills[0].parent), entry).differs.first == "run.py"


def kept_names(path: Path) -> list[str]:
    with sqlite3.connect(path) as database:
        found = sorted(os.fsdecode(name) for (name,) in database.execute("SELECT name FROM skills"))
    database.close()
    return found
