"""The locks of what is served, and whether each skill is as its lock says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.locks.locked import lock

from skillhub_mcp.errors import LockUnreadable
from skillhub_mcp.locks import lock_verifier
from skillhub_mcp.locks.file_digests import LockState
from skillhub_mcp.locks.lock_verifier import LockStanding, LockVerifier, lock_paths


def standing(library: LockVerifier, skill: Path) -> LockStanding:
    return next(library.standings([str(skill)]))


def test_an_edit_of_a_locked_skill_is_reported_until_it_is_undone(
    write_skill: SkillWriter,
) -> None:
    skill = write_skill("pdf", files={"run.py": "1"})
    lock(skill)
    library = LockVerifier()
    assert standing(library, skill).state is LockState.UNCHANGED
    (skill / "run.py").write_text("2")
    assert standing(library, skill).state is LockState.EDITED
    (skill / "run.py").write_text("1")
    assert standing(library, skill).state is LockState.UNCHANGED


def test_many_edits_at_once_cost_one_pause(write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    skills = [write_skill(name, files={"run.py": "1"}) for name in ("one", "two", "three")]
    for skill in skills:
        lock(skill)
    library, pauses = LockVerifier(), list[float]()
    assert {one.state for one in library.standings(map(str, skills))} == {LockState.UNCHANGED}
    for skill in skills:
        (skill / "run.py").write_text("2")
    monkeypatch.setattr("time.sleep", pauses.append)
    assert {one.state for one in library.standings(map(str, skills))} == {LockState.EDITED}
    assert len(pauses) == 1


def test_an_edit_of_the_same_size_with_the_old_mtime_is_found(write_skill: SkillWriter) -> None:
    skill = write_skill("pdf", files={"run.py": "1"})
    lock(skill)
    library, file = LockVerifier(), skill / "run.py"
    assert standing(library, skill).state is LockState.UNCHANGED
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_bytes(b"2")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert standing(library, skill).state is LockState.EDITED


def test_the_files_of_an_unchanged_skill_are_read_once(
    write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = write_skill("pdf")
    lock(skill)
    library = LockVerifier()
    first = standing(library, skill)
    monkeypatch.setattr(lock_verifier, "digests_of", None)
    assert standing(library, skill) is first


def test_a_skill_without_a_lock_entry_is_unlocked(write_skill: SkillWriter) -> None:
    one, other = write_skill("pdf"), write_skill("other")
    lock(one)
    assert standing(LockVerifier(), other).state is LockState.UNLOCKED


def test_a_lock_that_another_program_writes_is_read_again(write_skill: SkillWriter) -> None:
    skill = write_skill("pdf")
    library = LockVerifier()
    assert standing(library, skill).state is LockState.UNLOCKED
    path = lock(skill)
    assert standing(library, skill).state is LockState.UNCHANGED
    path.unlink()
    assert standing(library, skill).state is LockState.UNLOCKED


def test_an_unreadable_lock_is_reported_for_every_skill_beside_it(write_skill: SkillWriter) -> None:
    skill = write_skill("pdf")
    (skill.parent / "skills-lock.json").write_text("{")
    problem = standing(LockVerifier(), skill).problem
    assert isinstance(problem, LockUnreadable)
    assert problem.facts["line"] == 1


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_in_place_of_a_locked_skill_counts_by_the_files_it_leads_to(
    write_skill: SkillWriter, tmp_path: Path
) -> None:
    skill = write_skill("pdf", files={"run.py": "1"})
    lock(skill)
    moved = tmp_path / "elsewhere"
    skill.rename(moved)
    skill.symlink_to(moved)
    library = LockVerifier()
    assert standing(library, skill).state is LockState.UNCHANGED
    (moved / "run.py").write_text("2")
    assert standing(library, skill).state is LockState.EDITED


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_to_a_locked_skill_is_compared_with_the_lock_there(write_skill: SkillWriter, tmp_path: Path) -> None:
    skill = write_skill("pdf")
    lock(skill)
    linked = tmp_path / "other" / "pdf"
    linked.parent.mkdir()
    linked.symlink_to(skill)
    assert standing(LockVerifier(), linked).state is LockState.UNCHANGED


def test_a_projects_lock_lies_in_the_project_and_a_users_lock_in_the_root(tmp_path: Path) -> None:
    root = str(tmp_path / ".agents" / "skills")
    assert lock_paths(root) == (os.path.join(root, "skills-lock.json"), str(tmp_path / "skills-lock.json"))
    own = os.path.join(os.path.realpath(os.path.expanduser("~")), ".agents", "skills")
    assert lock_paths(own) == (os.path.join(own, "skills-lock.json"),)


def test_an_unreadable_file_is_a_change(write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    skill = write_skill("pdf")
    lock(skill)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock_verifier, "digests_of", refused)
    found = standing(LockVerifier(), skill)
    assert (found.state, found.unread) == (LockState.EDITED, "Permission denied")
