"""Selecting a skill by path or name, and the text that is loaded, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.disclosure.context.conftest import Add

from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.disclosure.context.loader import load_skill_context, select_skill
from skillhub_mcp.errors import AmbiguousSkill, InvalidArgument, SkillNotFound, SkillUnreadable


@pytest.mark.acceptance("S0-47", "S0-48", "S0-49")
def test_a_path_wins_over_a_name_and_one_of_them_must_be_given(catalogues: Catalogues, add: Add, project: Path) -> None:
    first, second = add(project, "first"), add(project, "second")
    listing = catalogues.listing()
    assert select_skill(listing, name="first", path=None).dir == os.path.realpath(first)
    for path in (str(second), str(second / "SKILL.md"), ".agents/skills/second", "./.agents/skills/second/SKILL.md"):
        assert select_skill(listing, name="first", path=path).name == "second"
    assert select_skill(listing, name=None, path=select_skill(listing, name="first", path=None).id).name == "first"
    for nothing in (None, "", "  "):
        with pytest.raises(InvalidArgument, match="name or path must be given"):
            select_skill(listing, name=nothing, path=None)


@pytest.mark.acceptance("S0-26", "S0-50")
def test_a_name_that_two_have_is_ambiguous_and_the_error_has_their_paths(
    catalogues: Catalogues, add: Add, project: Path, home: Path
) -> None:
    paths = [str(add(place, "one").resolve() / "SKILL.md") for place in (project, home)]
    listing = catalogues.listing()
    with pytest.raises(AmbiguousSkill) as caught:
        select_skill(listing, name="one", path=None)
    assert list(caught.value.candidates) == paths
    assert all(path in str(caught.value.hint) for path in paths)
    assert [select_skill(listing, name=None, path=path).path for path in paths] == paths


@pytest.mark.acceptance("S0-51", "S0-68", "S0-69")
def test_what_is_not_in_the_catalogue_cannot_be_chosen(
    catalogues: Catalogues, add: Add, project: Path, write_skill: Add
) -> None:
    add(project, "first")
    elsewhere = write_skill("elsewhere")
    listing = catalogues.listing()
    for path in (str(elsewhere), str(elsewhere / "SKILL.md"), "../x", ".agents/skills/first/../../..", "/etc/passwd"):
        with pytest.raises(SkillNotFound):
            select_skill(listing, name=None, path=path)
    with pytest.raises(SkillNotFound) as caught:
        select_skill(listing, name="frist", path=None)
    assert caught.value.near == ("first",)


@pytest.mark.acceptance("S0-52", "S0-53", "S0-54", "S0-55", "S0-56")
def test_a_loaded_skill_is_rendered_as_specified(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(
        project,
        "repo-review",
        "Review PR with risk-first checklist",
        body="# Review\n\nFollow references/checklist.md.\n",
        files={"scripts/run.sh": "x", "references/checklist.md": "x", ".env": "SECRET"},
    ).resolve()
    loaded = load_skill_context(select_skill(catalogues.listing(), name="repo-review", path=None))
    assert loaded.text == (
        f'<skill_context name="repo-review" path="{directory}/SKILL.md">\n'
        "---\nname: repo-review\ndescription: Review PR with risk-first checklist\n---\n"
        "# Review\n\nFollow references/checklist.md.\n"
        "\n"
        f"Base directory: {directory.as_uri()}/\n"
        "Relative paths in this skill are resolved from this directory.\n"
        "<skill_files>\n"
        f"<file>{directory}/references/checklist.md</file>\n"
        f"<file>{directory}/scripts/run.sh</file>\n"
        "</skill_files>\n"
        "</skill_context>"
    )
    assert loaded.mtime_ms == (directory / "SKILL.md").stat().st_mtime_ns / 1_000_000


def test_a_reader_who_shares_no_disk_gets_no_path_of_it(catalogues: Catalogues, project: Path, add: Add) -> None:
    add(project, "one", files={"references/a b.md": "x"})
    add(project / "x", "one")
    listing = catalogues.listing(str(project / "x"))
    text = load_skill_context(listing.skills[0], with_paths=False).text
    assert str(project) not in text
    assert (
        "<file>references/a b.md</file>"
        in load_skill_context(next(skill for skill in listing.skills if "/x/" not in skill.path), with_paths=False).text
    )
    with pytest.raises(AmbiguousSkill) as caught:
        select_skill(listing, name="one", path=None, with_paths=False)
    assert set(caught.value.candidates) == {skill.id for skill in listing.skills}


@pytest.mark.acceptance("S0-69", "S0-71")
def test_the_list_of_files_is_bounded_and_stays_inside(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "one", files={f"references/{number:03}.md": "x" for number in range(300)})
    (directory / "references" / "out.md").symlink_to("/etc/passwd")
    text = load_skill_context(select_skill(catalogues.listing(), name="one", path=None)).text
    assert text.count("<file>") <= 200
    assert "more files are not listed</note>" in text
    assert "out.md" not in text
    assert len(text) < 40_000


def test_a_skill_that_no_longer_exists_is_unreadable(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "one")
    skill = select_skill(catalogues.listing(), name="one", path=None)
    (directory / "SKILL.md").unlink()
    with pytest.raises(SkillUnreadable):
        load_skill_context(skill)


@pytest.mark.acceptance("S0-70")
def test_cycles_end_linked_skills_are_followed_and_a_linked_file_stays_inside(
    catalogues: Catalogues, project: Path, add: Add, write_skill: Add, tmp_path: Path
) -> None:
    skills = add(project, "own").parent
    outside = write_skill("linked", root=tmp_path / "library")
    (skills / "linked").symlink_to(outside)
    (skills / "cycle").symlink_to(skills)
    (skills / "leaving").mkdir()
    (skills / "leaving" / "SKILL.md").symlink_to(outside / "SKILL.md")
    listing = catalogues.listing()
    assert [skill.name for skill in listing.skills] == ["linked", "own"]
    assert load_skill_context(select_skill(listing, name="linked", path=None)).skill.dir == os.path.realpath(outside)
    (error,) = listing.errors
    assert error.path.endswith("/leaving/SKILL.md")
    assert "leads out of the skill" in error.message
