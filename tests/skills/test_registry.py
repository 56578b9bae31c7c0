"""What a scan finds, opens, remembers and settles (DECISIONS 9, 17, 26)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.errors import SkillUnreadable
from skillhub_mcp.skills.near import near_names
from skillhub_mcp.skills.registry import Scan, read_document, recall, scan
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.visibility import Visibility

LONG_AGO = 1_600_000_000_123_456_789


def look(*directories: Path, before: Scan | None = None, **options: bool) -> Scan:
    roots = make_roots([str(directory) for directory in directories])
    return scan(roots, memory={} if before is None else before.memory, **options)


def names(found: Scan) -> list[str]:
    return [skill.name for skill in found.snapshot.skills]


def age(directory: Path, at: int = LONG_AGO) -> None:
    os.utime(directory / "SKILL.md", ns=(at, at))


@pytest.mark.acceptance("S2-55")
def test_skills_are_found_at_any_depth_to_six_and_never_inside_a_skill(
    write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("top")
    write_skill("inside", root=skills_dir / "top" / "assets")
    write_skill("deep", root=skills_dir / "1/2/3/4/5")
    write_skill("too-deep", root=skills_dir / "1/2/3/4/5/6")
    write_skill("hidden", root=skills_dir / ".git")
    write_skill("module", root=skills_dir / "node_modules")
    assert names(look(skills_dir)) == ["deep", "top"]


@pytest.mark.acceptance("S2-55")
def test_a_relative_root_is_found_from_where_it_was_written(
    write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", root=tmp_path / "project/.agent/skills")
    monkeypatch.chdir(tmp_path / "project")
    assert names(look(Path("./.agent/skills"))) == ["one"]


def test_linked_skills_are_found_once_and_cycles_end(
    write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    outside = write_skill("outside", root=tmp_path / "elsewhere")
    (skills_dir / "a-link").symlink_to(outside)
    (skills_dir / "b-link").symlink_to(outside)
    (skills_dir / "cycle").symlink_to(skills_dir)
    found = look(skills_dir)
    assert [skill.directory for skill in found.snapshot.skills] == [str(outside)]
    assert found.snapshot.report.problems == ()


def test_places_that_cannot_be_looked_into_are_reported(skills_dir: Path, tmp_path: Path) -> None:
    (skills_dir / "directory" / "SKILL.md").mkdir(parents=True)
    (skills_dir / "dangling").mkdir()
    (skills_dir / "dangling" / "SKILL.md").symlink_to("nowhere")
    problems = look(skills_dir, tmp_path / "missing").snapshot.report.problems
    assert {(Path(problem.path).relative_to(tmp_path).as_posix(), problem.reason) for problem in problems} == {
        ("skills/directory/SKILL.md", "is not a regular file"),
        ("skills/dangling/SKILL.md", "No such file or directory"),
        ("missing", "No such file or directory"),
    }


def test_a_skill_file_that_is_a_link_out_of_the_skill_is_refused(
    skills_dir: Path, write_skill: SkillWriter, tmp_path: Path
) -> None:
    outside = write_skill("outside", root=tmp_path / "elsewhere")
    (skills_dir / "thief").mkdir()
    (skills_dir / "thief" / "SKILL.md").symlink_to(outside / "SKILL.md")
    found = look(skills_dir)
    assert names(found) == []
    assert [d.rule for refused in found.snapshot.report.refused for d in refused.diagnostics] == ["file-unreadable"]


@pytest.mark.acceptance("S2-53")
def test_bad_files_are_reported_and_the_others_served(write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("good")
    for name, content in {"broken": b"---\nname: [\n---\n", "binary": b"\0\1\2", "empty": b""}.items():
        (skills_dir / name).mkdir()
        (skills_dir / name / "SKILL.md").write_bytes(content)
    (skills_dir / "huge").mkdir()
    with (skills_dir / "huge" / "SKILL.md").open("wb") as file:
        file.truncate(1 << 31)
    found = look(skills_dir)
    assert names(found) == ["good"]
    refused = {Path(r.directory).name: r.diagnostics[-1].rule for r in found.snapshot.report.refused}
    assert refused == {
        "broken": "yaml-invalid",
        "binary": "file-binary",
        "empty": "frontmatter-missing",
        "huge": "file-too-large",
    }


def test_an_unchanged_file_is_not_opened_again(write_skill: SkillWriter, skills_dir: Path) -> None:
    for name in ("one", "two"):
        age(write_skill(name))
    first = look(skills_dir)
    assert (first.opened, first.changed) == (2, True)
    second = look(skills_dir, before=first)
    assert (second.opened, second.changed) == (0, False)
    assert second.snapshot == first.snapshot
    everything = look(skills_dir, before=first, reread=True)
    assert (everything.opened, everything.changed) == (2, False)


def test_a_file_that_changed_or_went_is_noticed(write_skill: SkillWriter, skills_dir: Path) -> None:
    for name in ("one", "two"):
        age(write_skill(name))
    first = look(skills_dir)
    age(write_skill("one", "Something else."), LONG_AGO + 1)
    changed = look(skills_dir, before=first)
    assert (changed.opened, changed.changed) == (1, True)
    shutil.rmtree(skills_dir / "two")
    gone = look(skills_dir, before=changed)
    assert (gone.opened, gone.changed, names(gone)) == (0, True, ["one"])


def test_a_file_that_was_only_touched_is_opened_but_not_changed(write_skill: SkillWriter, skills_dir: Path) -> None:
    directory = write_skill("one")
    age(directory)
    first = look(skills_dir)
    age(directory, LONG_AGO + 1)
    second = look(skills_dir, before=first)
    assert (second.opened, second.changed) == (1, False)


def test_a_file_written_again_within_the_tick_of_its_clock_is_seen(write_skill: SkillWriter, skills_dir: Path) -> None:
    directory = write_skill("one", "aaaa.")
    first = look(skills_dir)
    stamp = (directory / "SKILL.md").stat().st_mtime_ns
    write_skill("one", "bbbb.")
    os.utime(directory / "SKILL.md", ns=(stamp, stamp))
    second = look(skills_dir, before=first)
    assert second.snapshot.skills[0].description == "bbbb."


def test_a_good_skill_that_is_half_written_just_now_stays_as_it_was(write_skill: SkillWriter, skills_dir: Path) -> None:
    directory = write_skill("one")
    first = look(skills_dir)
    (directory / "SKILL.md").write_bytes(b"")
    assert names(look(skills_dir, before=first)) == ["one"]
    age(directory)
    assert names(look(skills_dir, before=first)) == []


def test_what_is_remembered_of_other_roots_is_neither_gone_nor_served(write_skill: SkillWriter, tmp_path: Path) -> None:
    age(write_skill("a", root=tmp_path / "first"))
    age(write_skill("b", root=tmp_path / "second"))
    both = look(tmp_path / "first", tmp_path / "second")
    alone = look(tmp_path / "first", before=both)
    assert (names(alone), alone.changed) == (["a"], False)
    assert [s.name for s in recall(make_roots([str(tmp_path / "second")]), memory=both.memory).skills] == ["b"]


@pytest.mark.acceptance("S2-54")
def test_of_one_name_the_earlier_root_wins_then_the_later_modified(write_skill: SkillWriter, tmp_path: Path) -> None:
    old = write_skill("same", root=tmp_path / "second", directory="old", body="old")
    new = write_skill("same", root=tmp_path / "second", directory="new", body="new")
    age(old, LONG_AGO)
    age(new, LONG_AGO + 1_000_000_000)
    found = look(tmp_path / "second")
    assert [skill.directory for skill in found.snapshot.skills] == [str(new)]
    (shadowed,) = found.snapshot.report.shadowed
    assert (shadowed.skill.directory, shadowed.winner.directory) == (str(old), str(new))
    first = write_skill("same", root=tmp_path / "first")
    age(first, LONG_AGO)
    both = look(tmp_path / "first", tmp_path / "second")
    assert [skill.directory for skill in both.snapshot.skills] == [str(first)]
    assert len(both.snapshot.report.shadowed) == 2
    assert len(both.snapshot.everything) == 3


def test_an_alias_never_takes_a_real_name(write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("Chat With PDF", directory="wild")
    write_skill("Other Wild", directory="wild2")
    write_skill("chat-with-pdf", directory="tame")
    snapshot = look(skills_dir).snapshot
    found = {name: snapshot.named(name) for name in ("chat-with-pdf", "Chat With PDF", "other-wild", "nope")}
    assert {name: skill and Path(skill.directory).name for name, skill in found.items()} == {
        "chat-with-pdf": "tame",
        "Chat With PDF": "wild",
        "other-wild": "wild2",
        "nope": None,
    }


def test_the_digest_is_of_places_and_contents_and_of_nothing_else(
    write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("one")
    write_skill("two")
    digest = look(skills_dir).snapshot.digest
    shutil.copytree(skills_dir, tmp_path / "copy")
    assert look(tmp_path / "copy").snapshot.digest == digest
    write_skill("two", body="other\n")
    assert look(skills_dir).snapshot.digest != digest


def test_strict_scanning_refuses_what_breaks_the_specification(write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("good")
    write_skill("loose", extra="version: 1")
    assert names(look(skills_dir, strict=True)) == ["good"]
    assert [Path(r.directory).name for r in look(skills_dir, strict=True).snapshot.report.refused] == ["loose"]


def test_a_document_that_went_names_its_path(write_skill: SkillWriter, skills_dir: Path) -> None:
    directory = write_skill("one", body="b")
    (skill,) = look(skills_dir).snapshot.skills
    assert read_document(skill).instructions == "b"
    (directory / "SKILL.md").unlink()
    with pytest.raises(SkillUnreadable) as caught:
        read_document(skill)
    assert caught.value.path == str(directory / "SKILL.md")


@pytest.mark.acceptance("S2-70", "S2-71", "S2-72")
def test_visibility_goes_by_names_else_by_categories(write_skill: SkillWriter, skills_dir: Path) -> None:
    write_skill("a", category="X")
    write_skill("b", category="y")
    write_skill("c")
    skills = look(skills_dir).snapshot.skills

    def seen(visibility: Visibility) -> list[str]:
        return [skill.name for skill in skills if visibility.allows(skill)]

    assert seen(Visibility()) == ["a", "b", "c"]
    assert seen(Visibility(categories=frozenset({"x"}))) == ["a"]
    assert seen(Visibility(names=frozenset({"c"}), categories=frozenset({"x"}))) == ["c"]


def test_near_names_are_few_and_the_nearest_first() -> None:
    names_ = [f"skill-{number}" for number in range(1000)] + ["pdf-reader", "pdf-writer", "csv-reader"]
    assert (
        near_names("pdf-raeder", names_)
        == ["pdf-reader", "pdf-writer", "csv-reader"][: len(near_names("pdf-raeder", names_))]
    )
    assert near_names("PDF-READER", names_)[0] == "pdf-reader"
    assert near_names("qqqqqqqq", names_) == []
    assert near_names("x", []) == []
