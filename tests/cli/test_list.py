"""`skillhub list`."""

from __future__ import annotations

import os
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
        "handle": "nested",
        "source": "hub",
        "description": "d",
        "category": "docs",
        "tags": ["a", "b"],
        "always_apply": True,
        "disable_model_invocation": False,
        "user_invocable": True,
        "state": "on",
        "path": str((skills_dir / "nested").resolve()),
        "shadowed_by": None,
        "diagnostics": ["metadata-nested"],
    }


def test_a_shadowed_skill_is_listed_after_its_winner_with_what_loads_it(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    write_skill("one", "First.")
    lost = write_skill("one", "Second.", root=second)
    both = f"{skills_dir}{os.pathsep}{second}"
    done = skillhub("list", SKILLS_DIR=both)
    assert done.out == f"one  First.\n{lost}  Second.  (shadowed by {skills_dir / 'one'})\n"
    assert skillhub("show", str(lost), "--json", SKILLS_DIR=both).json["description"] == "Second."
    assert skillhub("list", "--source", "user", SKILLS_DIR=both).out == "No matching skills (1 served).\n"


@pytest.mark.acceptance("S3-30")
def test_a_person_sees_what_is_kept_from_models_and_from_callers(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("for-people", "Is for people.", extra="disable-model-invocation: true")
    write_skill("for-models", "Is for models.", extra="user-invocable: false")
    assert skillhub("list").out == (
        "for-models  Is for models.  (not user-invocable)\nfor-people  Is for people.  (hidden from models)\n"
    )


def test_no_skill_of_a_category_is_not_taken_for_an_empty_library(skillhub: Skillhub, three: None) -> None:
    assert skillhub("list", "--category", "nope").out == "No matching skills (3 served).\n"


def test_an_empty_library_says_what_to_do(skillhub: Skillhub) -> None:
    for command in (["list"], ["search", "x"]):
        done = skillhub(*command)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("No skills found. Add a directory with a SKILL.md to the skills directory")


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
