"""The skill that a name refers to, the shadowed skills, and the digest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.skills.conftest import Looker

from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import ReadDepth, scan
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


# Two skills of one name


@pytest.mark.acceptance("S2-54")
def test_the_earlier_root_wins_however_old_its_skill_is(
    tmp_path: Path, look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    written_at(write_skill("same", root=one, directory="old"), 1_000 * SECOND)
    written_at(write_skill("same", root=two, directory="new"), 2_000 * SECOND)
    first = look(one, two).snapshot
    assert (served(first, "same"), shadowed(first)) == ("old", [("new", "old")])
    other = look(two, one).snapshot
    assert (served(other, "same"), shadowed(other)) == ("new", [("old", "new")])


@pytest.mark.acceptance("S2-54")
def test_within_a_root_the_later_modified_wins(look: Looker, write_skill: SkillWriter, written_at: MtimeSetter) -> None:
    a, b = write_skill("same", directory="a"), write_skill("same", directory="b")
    written_at(a, 1_000 * SECOND)
    written_at(b, 2_000 * SECOND)
    first = look()
    assert (served(first.snapshot, "same"), shadowed(first.snapshot)) == ("b", [("a", "b")])
    written_at(a, 3_000 * SECOND)
    second = look(memory=first.memory).snapshot
    assert (served(second, "same"), shadowed(second)) == ("a", [("b", "a")])


@pytest.mark.parametrize(("name", "carries"), [("skill-creator", "skill-creator"), ("Chat with PDF", "chat-with-pdf")])
def test_within_a_root_the_directory_that_carries_the_name_wins_it_however_old(
    name: str, carries: str, look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    written_at(write_skill(name, directory=carries), 1_000 * SECOND)
    # Another directory, the first by its path and one that sorts after it.
    for directory in ("a-draft", f"{carries}-2"):
        written_at(write_skill(name, f"From {directory}.", directory=directory), 2_000 * SECOND)
    snapshot = look().snapshot
    assert served(snapshot, name) == carries
    assert {lost.why for lost in Names(snapshot).shadowed()} == {ShadowReason.DIRECTORY}


def test_where_both_directories_carry_the_name_the_later_modified_wins(
    look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    written_at(write_skill("same", "One.", directory="1.0/same"), 2_000 * SECOND)
    written_at(write_skill("same", "Two.", directory="2.0/same"), 1_000 * SECOND)
    (lost,) = Names(look().snapshot).shadowed()
    assert (Path(lost.winner.directory).parent.name, lost.why) == ("1.0", ShadowReason.LATER)


@pytest.mark.acceptance("S2-54")
def test_of_skills_of_one_age_the_first_by_path_wins(
    look: Looker, write_skill: SkillWriter, written_at: MtimeSetter
) -> None:
    for directory in ("c", "a", "b"):
        written_at(write_skill("same", directory=directory), 1_000 * SECOND)
    snapshot = look().snapshot
    assert (served(snapshot, "same"), shadowed(snapshot)) == ("a", [("b", "a"), ("c", "a")])


@pytest.mark.parametrize(
    ("bodies", "whole", "why"),
    [
        # Only what was read whole can be the same word for word: of the others the headers alone were compared.
        (("One.\n", "Another.\n"), False, ShadowReason.ROOT),
        (("One.\n", "One.\n"), False, ShadowReason.ROOT),
        (("One.\n", "Another.\n"), True, ShadowReason.ROOT),
        (("One.\n", "One.\n"), True, ShadowReason.COPY),
    ],
)
def test_only_the_same_file_word_for_word_is_a_copy(
    bodies: tuple[str, str], whole: bool, why: ShadowReason, tmp_path: Path, write_skill: SkillWriter
) -> None:
    for root, body in zip(("one", "two"), bodies, strict=True):
        write_skill("same", root=tmp_path / root, body=body)
    roots = make_roots([str(tmp_path / "one"), str(tmp_path / "two")])
    seen = scan(roots, memory={}, depth=ReadDepth.WHOLE if whole else ReadDepth.HEADER)
    assert {skill.stamp.is_of_whole_file for skill in seen.snapshot.everything} == {whole}
    (lost,) = Names(seen.snapshot).shadowed()
    assert lost.why is why


def test_what_lost_is_kept_for_the_index_but_not_served(look: Looker, write_skill: SkillWriter) -> None:
    for directory in ("a", "b"):
        write_skill("same", directory=directory)
    snapshot = look().snapshot
    (lost,) = Names(snapshot).shadowed()
    assert len(snapshot.skills) == 1
    assert {skill.directory for skill in snapshot.everything} == {lost.skill.directory, lost.winner.directory}
    assert snapshot.by_directory(lost.winner.directory) is lost.winner
    assert snapshot.by_directory(lost.skill.directory) is lost.skill
    assert lost.skill not in snapshot.skills


def test_a_skill_that_is_refused_shadows_no_other(tmp_path: Path, look: Looker, write_skill: SkillWriter) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write_skill("same", root=one, directory="broken", frontmatter="name: same")
    write_skill("same", root=two, directory="sound")
    snapshot = look(one, two).snapshot
    assert (served(snapshot, "same"), shadowed(snapshot)) == ("sound", [])
    assert len(snapshot.report.refused) == 1


# Aliases


def test_a_wild_name_answers_to_its_safe_alias_too(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("Chat with PDF", directory="chat")
    snapshot = look().snapshot
    assert served(snapshot, "Chat with PDF") == served(snapshot, "chat-with-pdf") == "chat"
    assert [skill.name for skill in snapshot.skills] == ["Chat with PDF"]


def test_an_alias_never_takes_a_name_that_a_skill_has(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("Chat with PDF", directory="wild")
    write_skill("chat-with-pdf", directory="tame")
    snapshot = look().snapshot
    assert served(snapshot, "chat-with-pdf") == "tame"
    assert served(snapshot, "Chat with PDF") == "wild"
    assert Names(snapshot).shadowed() == ()


def test_of_two_wild_names_with_one_alias_the_first_by_name_answers(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("a_b", directory="second")
    write_skill("A B", directory="first")
    assert served(look().snapshot, "a-b") == "first"


def test_a_name_of_signs_alone_has_no_alias(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("'!!!'", directory="signs")
    snapshot = look().snapshot
    assert served(snapshot, "!!!") == "signs"
    assert Names(snapshot).find("") is None


# Order and digest


def test_skills_come_by_name_and_everything_by_directory(look: Looker, write_skill: SkillWriter) -> None:
    write_skill("z", directory="a")
    write_skill("a", directory="z")
    snapshot = look().snapshot
    assert [skill.name for skill in snapshot.skills] == ["a", "z"]
    assert [skill.name for skill in snapshot.everything] == ["z", "a"]


def test_a_copy_of_the_library_elsewhere_has_the_same_digest(
    tmp_path: Path, look: Looker, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("a")
    write_skill("same", directory="deep/b")
    write_skill("same", directory="deep/c")
    write_skill("broken", frontmatter="x")
    shutil.copytree(skills_dir, tmp_path / "copy" / "of", copy_function=shutil.copyfile)
    assert look(tmp_path / "copy" / "of").snapshot.digest == look().snapshot.digest


@pytest.mark.parametrize("beside", ["elsewhere", "library-old", "library2"])
def test_where_a_linked_skill_lies_makes_no_difference_to_the_digest(
    beside: str, tmp_path: Path, look: Looker, write_skill: SkillWriter
) -> None:
    """Not even beside the root, under a name that begins like the root's."""
    digests = []
    for machine, place in (("one", "far/away"), ("two", beside)):
        root = tmp_path / machine / "library"
        root.mkdir(parents=True)
        skill = write_skill("linked", root=tmp_path / machine / place, directory="linked")
        (root / "linked").symlink_to(skill)
        digests.append(look(root).snapshot.digest)
    assert digests[0] == digests[1]


def test_the_digest_changes_with_content_and_with_place(
    tmp_path: Path, look: Looker, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("a", root=tmp_path / "other")
    skill = write_skill("a")
    digests = [look().snapshot.digest]
    write_skill("a", "Does another thing.")
    digests.append(look().snapshot.digest)
    skill.rename(skills_dir / "moved")
    digests.append(look().snapshot.digest)
    digests.append(look(tmp_path / "other", skills_dir).snapshot.digest)
    digests.append(look(skills_dir, tmp_path / "other").snapshot.digest)
    write_skill("b")
    digests.append(look().snapshot.digest)
    assert len(set(digests)) == len(digests)
    assert all(digest.startswith("sha256:") for digest in digests)


def test_the_digest_is_of_what_the_index_says_and_not_of_bodies_or_of_what_is_refused(
    look: Looker, write_skill: SkillWriter
) -> None:
    skill = write_skill("a")
    before = look().snapshot.digest
    with (skill / "SKILL.md").open("a", encoding="utf-8") as file:
        file.write("more of the body\n")
    write_skill("b", frontmatter="refused")
    assert look().snapshot.digest == before
