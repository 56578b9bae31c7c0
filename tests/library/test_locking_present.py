"""Locking present skills, and verifying them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.library.roots import write_skill
from tests.library.sources.repositories import Repository, skill_text

from skillhub_mcp.errors import LockUnreadable, SkillConflict, SkillNotFound
from skillhub_mcp.library.install import installed_skill, locked_as
from skillhub_mcp.library.plan import plan_step
from skillhub_mcp.library.verifying import Locking, lock_present, verify
from skillhub_mcp.locks.file_digests import FileDigest, computed_hash, digests_of
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, lock_text, read_lock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with two skills."""
    root = tmp_path / "root"
    for name in ("one", "two"):
        write_skill(root / name, name)
    return root


def lock_of(root: Path) -> str:
    return str(root / "skills-lock.json")


def entry(root: Path, name: str) -> LockedSkill:
    lock = read_lock(lock_of(root))
    assert lock is not None
    found = lock.find(name)
    assert found is not None
    return found


def test_present_skills_are_locked_and_verify_until_edited(root: Path) -> None:
    found = lock_present(str(root), lock_of(root))
    assert [(one.name, one.done) for one in found] == [("one", Locking.LOCKED), ("two", Locking.LOCKED)]
    locked = entry(root, "one")
    assert (locked.source, locked.source_type) == ("./one", "local")
    assert locked.computed_hash == computed_hash(str(root / "one"))
    assert locked.ours is not None
    assert locked.ours.executable == ("scripts/run.sh",)
    assert verify(str(root), lock_of(root)).ok
    (root / "one" / "scripts" / "run.sh").write_text("echo edited\n")
    (root / "one" / "new").write_text("new")
    (root / "two" / "SKILL.md").unlink()
    one, two = verify(str(root), lock_of(root)).skills
    assert (one.ok, two.ok) == (False, False)


def test_edited_skills_are_locked_again_only_if_named(root: Path) -> None:
    lock_present(str(root), lock_of(root))
    (root / "one" / "scripts" / "run.sh").write_text("echo edited\n")
    one, two = lock_present(str(root), lock_of(root))
    assert (one.done, two.done) == (Locking.EDITED, Locking.UNCHANGED)
    assert not verify(str(root), lock_of(root)).ok
    (one,) = lock_present(str(root), lock_of(root), ["one"])
    assert one.done is Locking.LOCKED_AGAIN
    assert verify(str(root), lock_of(root)).ok


def test_a_dry_run_writes_nothing(root: Path) -> None:
    before = sorted(os.listdir(root))
    assert lock_present(str(root), lock_of(root), dry_run=True)[0].done is Locking.LOCKED
    assert sorted(os.listdir(root)) == before


def test_an_npx_entry_keeps_its_source_and_gets_a_digest(root: Path) -> None:
    text = (
        '{"version": 1, "skills": {"one": {"source": "o/r", "sourceType": "github", "computedHash": "x", "more": 1}}}'
    )
    (root / "skills-lock.json").write_text(text)
    (verified,) = verify(str(root), lock_of(root)).skills
    assert (verified.ok, verified.locked.ours) == (False, None)
    lock_present(str(root), lock_of(root), ["one"])
    locked = entry(root, "one")
    assert (locked.source, locked.computed_hash) == ("o/r", computed_hash(str(root / "one")))
    assert '"more": 1' in (root / "skills-lock.json").read_text()
    (verified,) = verify(str(root), lock_of(root)).skills
    assert verified.ok


def test_an_unknown_name_is_reported_with_a_similar_one(root: Path) -> None:
    with pytest.raises(SkillNotFound) as caught:
        lock_present(str(root), lock_of(root), ["ome"])
    assert caught.value.near == ("one",)
    with pytest.raises(LockUnreadable, match="does not exist"):
        verify(str(root), lock_of(root))


def test_locked_edits_stay_edits_when_the_source_changes(tmp_path: Path) -> None:
    repository, root = Repository(tmp_path / "repository"), tmp_path / "root"
    files = {"SKILL.md": skill_text("one"), "run.sh": "echo 1\n"}
    commit = repository.commit({f"skills/one/{path}": text for path, text in files.items()})
    (root / "one").mkdir(parents=True)
    for path, text in files.items():
        (root / "one" / path).write_text(text)
    before = LockedSkill(
        "one", repository.url, "git", skill_path="skills/one/SKILL.md", ours=LockedByHub("", commit=commit)
    )
    locked = locked_as(before, str(root / "one"), digests_of(str(root / "one")))
    Path(lock_of(root)).write_text(lock_text(Lock(lock_of(root), skills=(locked,))))
    (root / "one" / "run.sh").write_text("echo mine\n")
    (one,) = lock_present(str(root), lock_of(root), ["one"])
    assert one.done is Locking.LOCKED_AGAIN
    locked = entry(root, "one")
    assert locked.ours is not None
    assert locked.ours.commit == commit
    assert verify(str(root), lock_of(root)).ok
    there = installed_skill(str(root), "one", locked)
    assert there.files is not None
    source = {**there.files, "run.sh": FileDigest("b" * 64, 1, False)}
    with pytest.raises(SkillConflict, match=r"'run\.sh'"):
        plan_step(there, source, str(there.source))


def test_locking_edits_keeps_the_signer(root: Path) -> None:
    lock_present(str(root), lock_of(root))
    lock = Path(lock_of(root))
    lock.write_text(
        lock.read_text().replace('"installed_by"', '"signer": "SHA256:x", "principal": "a", "installed_by"')
    )
    (root / "one" / "scripts" / "run.sh").write_text("echo edited\n")
    lock_present(str(root), lock_of(root), ["one"])
    ours = entry(root, "one").ours
    assert ours is not None
    assert (ours.signer, ours.principal) == ("SHA256:x", "a")


def test_edits_after_npx_are_not_locked_unless_named(root: Path) -> None:
    text = '{"version": 1, "skills": {"one": {"source": "o/r", "sourceType": "github", "computedHash": "x"}}}'
    (root / "skills-lock.json").write_text(text)
    one, two = lock_present(str(root), lock_of(root))
    assert (one.done, two.done) == (Locking.EDITED, Locking.LOCKED)
    assert entry(root, "one").ours is None
