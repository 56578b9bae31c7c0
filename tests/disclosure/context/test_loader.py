"""Selecting a skill by path or name, and the text that is loaded, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.disclosure.context.conftest import Add, agreed

from skillhub_mcp.disclosure.catalogue import Budget
from skillhub_mcp.disclosure.context.catalogue import Catalogues
from skillhub_mcp.disclosure.context.loader import load_skill_context, select_skill
from skillhub_mcp.errors import AmbiguousSkill, InvalidArgument, SkillNotFound, SkillUnreadable
from skillhub_mcp.project import find_project
from skillhub_mcp.skills.model import Skill


@pytest.mark.acceptance("S0-47", "S0-48", "S0-49")
def test_a_path_takes_precedence_over_a_name(catalogues: Catalogues, add: Add, project: Path) -> None:
    first, second = add(project, "first"), add(project, "second")
    listing = catalogues.listing()
    assert select_skill(listing, name="first", path=None).dir == os.path.realpath(first)
    for path in (str(second), str(second / "SKILL.md"), ".agents/skills/second", "./.agents/skills/second/SKILL.md"):
        assert select_skill(listing, name="first", path=path).name == "second"
    assert select_skill(listing, name=None, path=select_skill(listing, name="first", path=None).id).name == "first"
    # A name may be given as the path, but not beside a name.
    assert select_skill(listing, name=None, path="second").name == "second"
    with pytest.raises(SkillNotFound):
        select_skill(listing, name="first", path="second")
    for nothing in (None, "", "  "):
        with pytest.raises(InvalidArgument, match="name or path must be given"):
            select_skill(listing, name=nothing, path=None)


@pytest.mark.acceptance("S0-26", "S0-50")
def test_an_ambiguous_name_is_an_error_with_paths(catalogues: Catalogues, add: Add, project: Path, home: Path) -> None:
    paths = [str(add(place, "one").resolve() / "SKILL.md") for place in (project, home)]
    listing = catalogues.listing()
    with pytest.raises(AmbiguousSkill) as caught:
        select_skill(listing, name="one", path=None)
    assert list(caught.value.facts["candidates"]) == paths
    assert all(path in str(caught.value.hint) for path in paths)
    assert [select_skill(listing, name=None, path=path).path for path in paths] == paths


@pytest.mark.acceptance("S0-51", "S0-68", "S0-69")
def test_skills_outside_the_catalogue_cannot_be_loaded(
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
    text, status = load_skill_context(select_skill(catalogues.listing(), name="repo-review", path=None))
    assert text == (
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
    assert status.st_mtime_ns == (directory / "SKILL.md").stat().st_mtime_ns


def test_remote_clients_get_no_paths(catalogues: Catalogues, project: Path, add: Add) -> None:
    add(project, "one", files={"references/a b.md": "x"})
    add(project / "x", "one")
    listing = catalogues.listing(str(project / "x"))
    texts = [load_skill_context(skill, with_paths=False)[0] for skill in listing.skills]
    assert [str(project) in text for text in texts] == [False, False]
    assert sum("<file>references/a b.md</file>" in text for text in texts) == 1
    with pytest.raises(AmbiguousSkill) as caught:
        select_skill(listing, name="one", path=None, with_paths=False)
    assert set(caught.value.facts["candidates"]) == {skill.id for skill in listing.skills}


@pytest.mark.acceptance("S0-69", "S0-71")
def test_the_list_of_files_is_bounded_and_confined(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "one", files={f"references/{number:03}.md": "x" for number in range(300)})
    (directory / "references" / "out.md").symlink_to("/etc/passwd")
    text, _ = load_skill_context(select_skill(catalogues.listing(), name="one", path=None))
    assert text.count("<file>") <= 200
    assert "more files are not listed</note>" in text
    assert "out.md" not in text
    assert len(text) < 40_000


def test_a_removed_skill_is_unreadable(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "one")
    skill = select_skill(catalogues.listing(), name="one", path=None)
    (directory / "SKILL.md").unlink()
    with pytest.raises(SkillUnreadable):
        load_skill_context(skill)


@pytest.mark.acceptance("S0-70")
def test_links_are_followed_without_cycles_or_escapes(
    catalogues: Catalogues, project: Path, add: Add, write_skill: Add, tmp_path: Path
) -> None:
    skills = add(project, "own").parent
    elsewhere = write_skill("linked", root=project / "library")
    (skills / "linked").symlink_to(elsewhere)
    (skills / "cycle").symlink_to(skills)
    outside = write_skill("outside", root=tmp_path / "library")
    (skills / "outside").symlink_to(outside)
    (skills / "leaving").mkdir()
    (skills / "leaving" / "SKILL.md").symlink_to(elsewhere / "SKILL.md")
    listing = catalogues.listing()
    assert [skill.name for skill in listing.skills] == ["outside", "own", "linked"]
    assert select_skill(listing, name="linked", path=None).dir == os.path.realpath(elsewhere)
    (file,) = listing.errors
    assert file.path.endswith("/leaving/SKILL.md")
    assert "leads out of the skill" in file.message


def rename(directory: Path, name: str, *, in_the_file: bool = True) -> Path:
    moved = directory.rename(directory.with_name(name))
    if in_the_file:
        file = moved / "SKILL.md"
        file.write_text(file.read_text(encoding="utf-8").replace(directory.name, name), encoding="utf-8")
    return moved


def refusal(
    catalogues: Catalogues, name: str | None = None, *, path: str | None = None, with_paths: bool = True
) -> SkillNotFound:
    with pytest.raises(SkillNotFound) as caught:
        catalogues.select(lambda listing: select_skill(listing, name=name, path=path, with_paths=with_paths))
    return caught.value


def test_a_renamed_skill_is_found_by_its_new_name_only(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "old", "Writes letters.").resolve()
    catalogues.listing()
    rename(directory, "new")
    for name, path in (("old", None), (None, f"{directory}/SKILL.md"), (None, str(directory))):
        assert "available skills: new" in str(refusal(catalogues, name, path=path).hint)
    assert catalogues.select(lambda listing: select_skill(listing, name="new", path=None))[1].name == "new"


def test_a_renamed_directory_reports_the_name_mismatch(catalogues: Catalogues, project: Path, add: Add) -> None:
    directory = add(project, "old").resolve()
    catalogues.listing()
    moved = rename(directory, "new", in_the_file=False)
    for name in ("old", "new"):
        assert f"{moved}/SKILL.md is refused: " in refusal(catalogues, name=name).message
    reported = refusal(catalogues, name="old", with_paths=False).message
    assert "new/SKILL.md is refused" in reported
    assert str(project) not in reported


def test_a_removed_skill_is_not_revealed_to_restricted_callers(project: Path, home: Path, add: Add) -> None:
    directory = add(project, "old")
    add(project, "refused", frontmatter="name: refused")
    own = Catalogues(
        lambda _: find_project(str(project)),
        home=str(home),
        budget=Budget(9, 999),
        is_allowed=lambda skill: skill.name != "old",
        reports_errors=lambda: False,
    )
    own.listing()
    rename(directory, "new")
    assert refusal(own, name="old").message == "No skill is named 'old'"
    assert refusal(own, name="refused").message == "No skill is named 'refused'"


def test_a_disabled_namesake_does_not_make_a_name_ambiguous(project: Path, home: Path, add: Add) -> None:
    kept, off = add(project, "one").resolve(), add(home, "one").resolve()

    def catalogues_without(*disabled: Path) -> Catalogues:
        def is_enabled(skill: Skill) -> bool:
            return Path(skill.directory) not in disabled

        return Catalogues(
            lambda _: find_project(str(project)),
            home=str(home),
            budget=Budget(9, 999),
            enabled_in=lambda _: is_enabled,
            judge=agreed,
        )

    listing = catalogues_without(off).listing()
    assert select_skill(listing, name="one", path=None).dir == str(kept)
    assert select_skill(listing, name=None, path=str(off)).dir == str(off)
    assert select_skill(catalogues_without(kept).listing(), name="one", path=None).dir == str(off)
    # Not ambiguous, as both are disabled.
    assert select_skill(catalogues_without(kept, off).listing(), name="one", path=None).name == "one"
    with pytest.raises(AmbiguousSkill):
        select_skill(catalogues_without().listing(), name="one", path=None)
