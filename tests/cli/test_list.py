"""`skillhub list`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def names(printed: str) -> list[str]:
    return [line.split()[0] for line in printed.splitlines()]


@pytest.fixture
def three(write_skill: SkillWriter) -> None:
    write_skill("flat", frontmatter='name: flat\ndescription: d\nmetadata:\n  skillhub.alwaysApply: "true"')
    write_skill(
        "nested",
        frontmatter="name: nested\ndescription: d\n"
        "metadata:\n  skillhub:\n    category: Docs\n    tags: [A, b]\n    alwaysApply: true",
    )
    write_skill("plain", "Is plain.")


def test_skills_are_listed_by_name(skillhub: Skillhub, three: None) -> None:
    done = skillhub("list")
    assert (done.code, names(done.out), done.err) == (0, ["flat", "nested", "plain"], "")
    assert done.out.splitlines()[2] == "plain  Is plain."


@pytest.mark.acceptance("S2-58", "S2-59")
def test_core_skills_are_those_that_always_apply(skillhub: Skillhub, three: None) -> None:
    assert names(skillhub("list", "--core").out) == ["flat", "nested"]
    assert [skill["name"] for skill in skillhub("list", "--core", "--json").json["skills"]] == ["flat", "nested"]


@pytest.mark.acceptance("S2-58")
def test_a_category_is_listed_without_regard_to_case(skillhub: Skillhub, three: None, skills_dir: Path) -> None:
    (only,) = skillhub("list", "--category", "DOCS", "--json").json["skills"]
    assert only == {
        "name": "nested",
        "description": "d",
        "category": "docs",
        "tags": ["a", "b"],
        "always_apply": True,
        "path": str((skills_dir / "nested").resolve()),
        "diagnostics": ["metadata-nested"],
    }


def test_no_skill_of_a_category_is_not_taken_for_an_empty_library(skillhub: Skillhub, three: None) -> None:
    assert skillhub("list", "--category", "nope").out == "No skill of 3 fits.\n"


def test_an_empty_library_says_what_to_do(skillhub: Skillhub) -> None:
    for command in (["list"], ["search", "x"]):
        done = skillhub(*command)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("No skills. Put a folder with a SKILL.md into the skills directory")


@pytest.mark.acceptance("S2-70", "S2-71", "S2-72")
def test_only_enabled_skills_are_listed(skillhub: Skillhub, three: None) -> None:
    assert names(skillhub("list", SKILLHUB_ENABLED_SKILLS="plain").out) == ["plain"]
    assert names(skillhub("list", SKILLHUB_ENABLED_CATEGORIES="DOCS").out) == ["nested"]
    both = skillhub("list", SKILLHUB_ENABLED_SKILLS="plain", SKILLHUB_ENABLED_CATEGORIES="docs")
    assert names(both.out) == ["plain"]


@pytest.mark.acceptance("S2-55")
def test_a_relative_skills_directory_is_below_the_working_directory(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("local", root=tmp_path / ".agent" / "skills")
    monkeypatch.chdir(tmp_path)
    assert names(skillhub("list", SKILLS_DIR="./.agent/skills").out) == ["local"]
