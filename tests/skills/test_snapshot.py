"""The skill that a name refers to, the shadowed skills, and the digest."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.skills.conftest import Looker

from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot

MtimeSetter = Callable[[Path, int], None]
SECOND = 1_000_000_000


def shadowed(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The shadowed skills and their winners, by directory name."""
    lost = Names(snapshot).shadowed()
    return [(os.path.basename(s.skill.directory), os.path.basename(s.winner.directory)) for s in lost]


def served(snapshot: Snapshot, name: str) -> str | None:
    skill = Names(snapshot).find(name)
    return None if skill is None else os.path.basename(skill.directory)


# Name conflicts


@pytest.mark.acceptance("S2-54", "S3-19")
def test_within_a_root_the_newer_skill_wins(look: Looker, write_skill: SkillWriter, written_at: MtimeSetter) -> None:
    a, b = write_skill("same", directory="a"), write_skill("same", directory="b")
    written_at(a, 1_000 * SECOND)
    written_at(b, 2_000 * SECOND)
    first = look()
    assert (served(first.snapshot, "same"), shadowed(first.snapshot)) == ("b", [("a", "b")])
    written_at(a, 3_000 * SECOND)
    second = look(memory=first.memory).snapshot
    assert (served(second, "same"), shadowed(second)) == ("a", [("b", "a")])


@pytest.mark.parametrize(("name", "carries"), [("skill-creator", "skill-creator"), ("Chat with PDF", "chat-with-pdf")])
def test_within_a_root_the_directory_with_the_name_wins_at_any_age(
    name: str, carries: str, look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    written_at(write_skill(name, directory=carries), 1_000 * SECOND)
    # Another directory, once sorted first and once last.
    for directory in ("a-draft", f"{carries}-2"):
        written_at(write_skill(name, f"From {directory}.", directory=directory), 2_000 * SECOND)
    snapshot = look().snapshot
    assert served(snapshot, name) == carries
    assert {lost.why for lost in Names(snapshot).shadowed()} == {ShadowReason.DIRECTORY}


@pytest.mark.acceptance("S2-54")
def test_equally_old_skills_are_ordered_by_path(
    look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    for directory in ("c", "a", "b"):
        written_at(write_skill("same", directory=directory), 1_000 * SECOND)
    snapshot = look().snapshot
    assert (served(snapshot, "same"), shadowed(snapshot)) == ("a", [("b", "a"), ("c", "a")])


@pytest.mark.parametrize(
    ("bodies", "whole", "why"),
    [
        # Only completely read files can be byte-identical: of others, only the headers were compared.
        (("One.\n", "Another.\n"), False, ShadowReason.ROOT),
        (("One.\n", "One.\n"), False, ShadowReason.ROOT),
        (("One.\n", "Another.\n"), True, ShadowReason.ROOT),
        (("One.\n", "One.\n"), True, ShadowReason.COPY),
    ],
)
def test_only_byte_identical_files_are_copies(
    bodies: tuple[str, str], whole: bool, why: ShadowReason, tmp_path: Path, write_skill: SkillWriter
) -> None:
    for root, body in zip(("one", "two"), bodies, strict=True):
        write_skill("same", root=tmp_path / root, body=body)
    roots = make_roots([str(tmp_path / "one"), str(tmp_path / "two")])
    seen = scan(roots, memory={}, whole=whole)
    assert {skill.stamp.is_of_whole_file for skill in seen.snapshot.everything} == {whole}
    (lost,) = Names(seen.snapshot).shadowed()
    assert lost.why is why


def test_a_refused_skill_shadows_no_other(tmp_path: Path, look: Looker, write_skill: SkillWriter) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_skill("same", root=one, directory="broken", frontmatter="name: same")
    write_skill("same", root=two, directory="sound")
    snapshot = look(one, two).snapshot
    assert (served(snapshot, "same"), shadowed(snapshot)) == ("sound", [])
    assert len(snapshot.report.refused) == 1


def test_an_alias_finds_a_skill_unless_another_has_that_name(look: Looker, write_skill: SkillWriter) -> None:
    for name, directory in (
        ("Chat with PDF", "wild"),
        ("chat-with-pdf", "tame"),
        ("Data Tools", "tools"),
        ("a_b", "second"),
        ("A B", "first"),
        ("'!!!'", "signs"),
    ):
        write_skill(name, directory=directory)
    snapshot = look().snapshot
    wanted = ("Chat with PDF", "chat-with-pdf", "data-tools", "a-b", "!!!", "")
    assert [served(snapshot, name) for name in wanted] == ["wild", "tame", "tools", "first", "signs", None]
    assert Names(snapshot).shadowed() == ()
