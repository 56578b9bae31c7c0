"""`skillhub context`: the agent-context tools at the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

Add = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "repo"
    directory.mkdir()
    return directory


@pytest.fixture
def add(write_skill: SkillWriter) -> Add:
    def add(place: Path, name: str, description: str = "Does it. Use when due.", **options: Any) -> Path:
        return write_skill(name, description, root=place / ".agents" / "skills", **options).resolve()

    return add


def names(done: Any) -> list[str]:
    return [skill["name"] for skill in done.json["skills"]]


@pytest.mark.acceptance("S0-8", "S0-9", "S0-75")
def test_the_projects_and_the_users_skills_are_listed_with_their_errors(
    skillhub: Skillhub, add: Add, project: Path
) -> None:
    (project / ".git").mkdir()
    first = add(project, "at-root")
    second = add(project / "x", "at-cwd")
    third = add(Path(os.environ["HOME"]), "at-home")
    broken = add(project, "broken", frontmatter="name: broken")
    done = skillhub("context", "list", "--cwd", str(project / "x"))
    assert (done.code, done.err) == (0, "")
    for scope, directory in (("repo", first), ("repo", second), ("user", third)):
        assert f"{scope}  {directory.name}  Does it. Use when due.\n      {directory}/SKILL.md\n" in done.out
    assert f"error  {broken}/SKILL.md: there is no description" in done.out
    as_json = skillhub("context", "list", "--cwd", str(project / "x"), "--json").json
    assert len(as_json["skills"]) == 3
    assert [error["path"] for error in as_json["errors"]] == [f"{broken}/SKILL.md"]


@pytest.mark.acceptance("S0-16")
def test_what_cannot_be_looked_into_is_told_and_all_else_is_listed(skillhub: Skillhub, add: Add, project: Path) -> None:
    (project / ".git").mkdir()
    (project / "x" / ".agents").mkdir(parents=True)
    (project / "x" / ".agents" / "skills").write_text("Not a directory.", encoding="utf-8")
    skills = add(project, "good").parent
    (skills / "loop").symlink_to("loop")
    (skills / "odd" / "SKILL.md").mkdir(parents=True)
    done = skillhub("context", "list", "--cwd", str(project / "x"), "--json")
    assert (done.code, done.err, names(done)) == (0, "", ["good"])
    assert {os.path.relpath(error["path"], project.resolve()) for error in done.json["errors"]} == {
        "x/.agents/skills",
        ".agents/skills/loop",
        ".agents/skills/odd/SKILL.md",
    }
    # Without any of the places.
    none = skillhub("context", "list", "--cwd", str(project / "x" / ".agents"), "--json", SKILLHUB_PROJECT_ROOT=".")
    assert (none.code, none.json) == (0, {"skills": [], "errors": []})


@pytest.mark.acceptance("S0-12", "S0-13", "S0-14")
def test_the_root_is_the_variable_or_the_nearest_marker_or_the_directory_itself(
    skillhub: Skillhub, add: Add, project: Path
) -> None:
    cwd = project / "a" / "b"
    cwd.mkdir(parents=True)
    add(project, "top")
    add(project / "a", "middle")
    add(cwd, "here")

    def listed(**environment: str) -> list[str]:
        return sorted(names(skillhub("context", "list", "--json", "--cwd", str(cwd), **environment)))

    assert listed() == ["here"]
    (project / "a" / ".jj").write_text("", encoding="utf-8")
    assert listed() == ["here", "middle"]
    assert listed(CODELIA_AGENTS_ROOT=str(project)) == ["here", "middle", "top"]
    assert listed(SKILLHUB_PROJECT_ROOT=str(cwd)) == ["here"]
    (project / ".hg").mkdir()
    assert listed(CODELIA_AGENTS_MARKERS=".hg") == ["here", "middle", "top"]


def test_skills_are_found_and_loaded(skillhub: Skillhub, add: Add, project: Path) -> None:
    directory = add(project, "release-notes", "Draft notes from commits")
    add(project, "painter", "Paints walls")
    options = ("--cwd", str(project))
    found = skillhub("context", "search", "release", *options)
    assert found.out.startswith(f"0.71  release-notes  prefix, repo\n      {directory}/SKILL.md\n")
    assert names(skillhub("context", "search", "commits", "--json", *options)) == ["release-notes"]
    assert skillhub("context", "search", "quantum", *options).out == "No matching skills (searched 2).\n"
    loaded = skillhub("context", "load", "--name", "release-notes", *options)
    assert loaded.out.startswith(f'<skill_context name="release-notes" path="{directory}/SKILL.md">\n')
    by_path = skillhub("context", "load", "--path", str(directory), "--json", *options).json
    assert (by_path["name"], by_path["text"]) == ("release-notes", loaded.out.removesuffix("\n"))
    assert skillhub("context", "load", *options).code == 2
    assert skillhub("context", "load", "--name", "nope", *options).code == 1


def test_what_is_missing_or_not_found_is_told_in_the_words_of_a_shell(
    skillhub: Skillhub, add: Add, project: Path
) -> None:
    for number in range(21):
        add(project, f"number-{number}")
    done = skillhub("context", "load", "--cwd", str(project))
    assert done.err == "error: --name or --path is required\n\nhint: `skillhub context list` has the skills\n"
    done = skillhub("context", "load", "--name", "zzz", "--cwd", str(project))
    assert done.err.endswith(" and 1 more, which `skillhub context search` finds\n")


@pytest.mark.acceptance("S0-72")
def test_switched_off_it_says_so(skillhub: Skillhub) -> None:
    done = skillhub("context", "list", SKILLHUB_SKILLS_ENABLED="0")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: SKILLHUB_SKILLS_ENABLED='0' disables this command\n\nhint: set it to 1\n"


def test_without_skills_it_says_where_to_put_them(skillhub: Skillhub, project: Path) -> None:
    assert skillhub("context", "list", "--cwd", str(project)).out.startswith("No skills found. Add a directory")


def test_a_working_directory_that_does_not_exist_is_refused(skillhub: Skillhub, tmp_path: Path) -> None:
    done = skillhub("context", "list", "--cwd", str(tmp_path / "none"))
    assert (done.code, "is not a directory" in done.err) == (2, True)


def test_without_an_option_the_working_directory_is_the_variables_or_the_processes_own(
    skillhub: Skillhub, add: Add, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(project, "here")
    add(project / "x", "there")
    monkeypatch.chdir(project)
    assert names(skillhub("context", "list", "--json")) == ["here"]
    assert names(skillhub("context", "list", "--json", SKILLHUB_CWD=str(project / "x"))) == ["there"]
    listed = skillhub("list", "--roots", "project", "--json").json["skills"]
    assert [(skill["name"], skill["source"]) for skill in listed] == [("here", "project")]


def test_a_working_directory_that_was_removed_costs_the_projects_skills_alone(
    skillhub: Skillhub, add: Add, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(Path(os.environ["HOME"]), "at-home")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert names(skillhub("context", "list", "--json")) == ["at-home"]
    monkeypatch.chdir(tmp_path)
