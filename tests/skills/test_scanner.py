"""Scans: changed files are read, unchanged files are not opened, and every SKILL.md is served or reported."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.skills.conftest import AN_HOUR_NS, Looker

from skillhub_mcp.errors import SkillUnreadable
from skillhub_mcp.skills.admission import STRICT
from skillhub_mcp.skills.loader import read_instructions
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.roots import Source, distinct_roots, make_roots
from skillhub_mcp.skills.scanner import Scan, scan, scan_from_cache

MtimeSetter = Callable[[Path, int], None]


def names(seen: Scan) -> list[str]:
    return [skill.name for skill in seen.snapshot.skills]


def rules(seen: Scan, directory: Path) -> list[str]:
    return [d.rule for d in seen.memory[os.path.realpath(directory)].diagnostics]


def rewrite(skill: Path, content: bytes) -> None:
    """Write other content with the same mtime and size."""
    file = skill / "SKILL.md"
    before = file.stat()
    assert len(content) <= before.st_size
    file.write_bytes(content.ljust(before.st_size))
    os.utime(file, ns=(before.st_mtime_ns, before.st_mtime_ns))


@pytest.fixture
def old(write_skill: SkillWriter, written_at: MtimeSetter) -> SkillWriter:
    """Write a skill that was last changed an hour ago."""

    def write(name: str, *args: str, **options: str) -> Path:
        skill = write_skill(name, *args, **options)
        written_at(skill, time.time_ns() - AN_HOUR_NS)
        return skill

    return write


# What is opened


def test_an_unchanged_file_is_not_opened_again(look: Looker, old: SkillWriter) -> None:
    for name in ("a", "b", "c"):
        old(name)
    first = look()
    assert first.opened == 3
    second = look(memory=first.memory)
    assert second.opened == 0
    assert second.snapshot == first.snapshot


def test_a_rewritten_file_of_equal_mtime_and_size_is_read_again(look: Looker, old: SkillWriter) -> None:
    skill = old("a")
    first = look()
    rewrite(skill, b"\0")
    second = look(memory=first.memory)
    assert (second.opened, names(second)) == (1, [])


def test_unchanged_means_equal_mtime_ctime_and_size(look: Looker, old: SkillWriter) -> None:
    skill = old("a")
    ((directory, entry),) = look().memory.items()
    rewrite(skill, b"\0")
    # As on a file system without ctime.
    ctime_ns = (skill / "SKILL.md").stat().st_ctime_ns
    memory = {directory: replace(entry, stamp=replace(entry.stamp, ctime_ns=ctime_ns))}
    trusting = look(memory=memory)
    assert (trusting.opened, names(trusting)) == (0, ["a"])
    verifying = look(memory=memory, reread=True)
    assert (verifying.opened, names(verifying)) == (1, [])


def test_a_file_rewritten_within_the_clock_tick_of_its_read_is_read_again(
    look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    skill = write_skill("a", "The first words")
    # The file's clock is slightly ahead, so this read is never later than the write.
    written_at(skill, time.time_ns() + 60_000_000_000)
    first = look()
    rewrite(skill, b"---\nname: a\ndescription: Other words\n---\n")
    second = look(memory=first.memory)
    assert second.opened == 1
    assert second.snapshot.skills[0].description == "Other words"


def test_a_broken_file_stays_broken_until_it_changes(look: Looker, old: SkillWriter, write_skill: SkillWriter) -> None:
    old("a", frontmatter="name: 'open")
    first = look()
    second = look(memory=first.memory)
    assert second.opened == 0
    assert second.snapshot.report == first.snapshot.report
    write_skill("a")
    assert names(look(memory=second.memory)) == ["a"]


# What is served


@pytest.mark.acceptance("S2-56")
def test_loading_is_lenient_by_default(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("kept")
    noted = write_skill("noted", directory="elsewhere")  # a name that differs from the directory is only noted
    unknown = write_skill("unknown-key", extra="runtime: python")
    lenient = look()
    assert names(lenient) == ["kept", "noted", "unknown-key"]
    assert rules(lenient, unknown) == ["key-unknown"]
    strict = look(admission=STRICT)
    assert names(strict) == ["kept"]
    refused = [refused.directory for refused in strict.snapshot.report.refused]
    assert refused == [os.path.realpath(noted), os.path.realpath(unknown)]
    # Strictness affects serving, not reading: both modes share the cache.
    roots = make_roots([strict.snapshot.skills[0].root])
    assert [skill.name for skill in scan_from_cache(roots, memory=lenient.memory, admission=STRICT).skills] == names(
        strict
    )
    assert [skill.name for skill in scan_from_cache(roots, memory=strict.memory).skills] == names(lenient)


# Documents


@pytest.mark.acceptance("S2-22")
def test_a_document_is_the_current_body_of_the_file(look: Looker, write_skill: SkillWriter) -> None:
    body = "# A\r\n\r\n---\r\n\r\nname: no frontmatter\n---\n  end"
    skill_directory = write_skill("a")
    (skill_directory / "SKILL.md").write_bytes(b"---\r\nname: a\r\ndescription: b\r\n---\r\n" + body.encode())
    (skill,) = look().snapshot.skills
    assert read_instructions(skill) == body
    (skill_directory / "SKILL.md").write_bytes(b"---\nname: a\ndescription: b\n---\nOther")
    assert read_instructions(skill) == "Other"


@pytest.mark.acceptance("S2-61")
def test_a_readme_is_never_part_of_the_instructions(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("a", body="Do it.\n", files={"README.md": "For people.", "readme.md": "For people."})
    write_skill("b", body="", files={"README.md": "For people."})
    a, b = look().snapshot.skills
    assert read_instructions(a) == "Do it.\n"
    assert read_instructions(b) == ""
    assert "people" not in a.searchable_text


@pytest.mark.parametrize("ruin", [None, b"no frontmatter", b"\0"])
def test_a_deleted_or_broken_document_is_an_error(look: Looker, write_skill: SkillWriter, ruin: bytes | None) -> None:
    directory = write_skill("a")
    (skill,) = look().snapshot.skills
    if ruin is None:
        shutil.rmtree(directory)
    else:
        (directory / "SKILL.md").write_bytes(ruin)
    with pytest.raises(SkillUnreadable) as caught:
        read_instructions(skill)
    assert caught.value.facts["skill_name"] == "a"
    assert caught.value.path == os.path.join(os.path.realpath(directory), "SKILL.md")


def test_the_skills_of_a_missing_root_stay_if_requested(
    write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        write_skill(name)
    other = write_skill("other", root=tmp_path / "other")
    roots = make_roots([str(skills_dir), str(other.parent)])
    first = scan(roots, memory={})
    skills_dir.rename(tmp_path / "away")
    for reason in ("is missing", "is empty"):
        kept = scan(roots, memory=first.memory, keep_absent=True)
        assert names(kept) == ["a", "b", "other"]
        (root,) = kept.snapshot.report.unavailable
        assert (root.path, root.reason, root.remembered) == (str(skills_dir), reason, 2)
        (problem,) = kept.snapshot.report.problems
        assert (problem.subject, problem.message) == (
            str(skills_dir),
            f"{reason}, and had 2 skills, which stay known and cannot be loaded",
        )
        partial = scan(roots, memory=first.memory, keep_absent=True, only=[str(skills_dir / "a")])
        assert names(partial) == ["a", "b", "other"]
        assert names(scan(roots, memory=first.memory)) == ["other"]
        skills_dir.mkdir(exist_ok=True)
        (skills_dir / ".hidden").touch()
    write_skill("c")
    back = scan(roots, memory=first.memory, keep_absent=True)
    assert (names(back), back.snapshot.report.unavailable) == (["c", "other"], ())


def test_the_last_skill_of_a_root_may_be_removed(write_skill: SkillWriter, skills_dir: Path) -> None:
    last = write_skill("last")
    roots = make_roots([str(skills_dir)])
    memory = scan(roots, memory={}).memory
    shutil.rmtree(last)
    empty = scan(roots, memory=memory, keep_absent=True)
    assert (names(empty), empty.snapshot.report.unavailable) == ([], ())
    skills_dir.rmdir()
    assert names(scan(roots, memory=memory, keep_absent=True)) == ["last"]


def test_a_root_that_never_existed_just_has_no_skills(write_skill: SkillWriter, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(name, root=tmp_path / "project")
    roots = distinct_roots([(Source.PROJECT, str(tmp_path / "project")), (Source.HUB, str(tmp_path / "never"))])
    memory = scan(roots, memory={}, keep_absent=True).memory
    # Another branch may have no skills.
    shutil.rmtree(tmp_path / "project")
    gone = scan(roots, memory=memory, keep_absent=True)
    assert (names(gone), gone.snapshot.report.unavailable) == ([], ())
    assert [problem.message for problem in gone.snapshot.report.problems] == ["does not exist"]


def test_a_scan_of_some_files_follows_a_change_of_trust(write_skill: SkillWriter, skills_dir: Path) -> None:
    skill = write_skill("commit")
    (root,) = make_roots([str(skills_dir)])
    first = scan((replace(root, trust=Trust.AGREED),), memory={})
    changed = (replace(root, trust=Trust.CHANGED),)
    second = scan(changed, memory=first.memory, only=[str(skill / "SKILL.md")], before=first)
    assert [one.trust for one in second.snapshot.skills] == [Trust.CHANGED]
