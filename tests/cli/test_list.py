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
    assert done.out.splitlines()[2] == "plain  hub  Is plain."


@pytest.mark.acceptance("S2-58", "S2-59")
def test_core_lists_only_pinned_skills(skillhub: Skillhub, three: None) -> None:
    assert [skill["name"] for skill in skillhub("list", "--core", "--json").json["skills"]] == ["flat", "nested"]


@pytest.mark.acceptance("S2-58")
def test_a_category_matches_in_any_case(skillhub: Skillhub, three: None, skills_dir: Path) -> None:
    (only,) = skillhub("list", "--category", "DOCS", "--json").json["skills"]
    assert (only["name"], only["category"], only["tags"], only["always_apply"]) == ("nested", "docs", ["a", "b"], True)
    assert (only["path"], only["diagnostics"]) == (str((skills_dir / "nested").resolve()), ["metadata-nested"])


def test_a_shadowed_skill_follows_its_winner(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    write_skill("one", "First.")
    lost = write_skill("one", "Second.", root=second)
    both = f"{skills_dir}{os.pathsep}{second}"
    done = skillhub("list", SKILLS_DIR=both)
    assert done.out == f"one  hub  First.\n{lost}  hub  (shadowed by {skills_dir / 'one'}) Second.\n"
    assert skillhub("show", str(lost), "--json", SKILLS_DIR=both).json["description"] == "Second."
    assert skillhub("list", "--source", "user", SKILLS_DIR=both).out == (
        "No skills:\n  source user\n      has no skill that is served\n      → leave the source out\n"
    )


@pytest.mark.acceptance("S3-30")
def test_skills_hidden_from_models_or_users_are_marked(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("for-people", "Is for people.", extra="disable-model-invocation: true")
    write_skill("for-models", "Is for models.", extra="user-invocable: false")
    assert skillhub("list").out == (
        "for-models  hub  (not user-invocable) Is for models.\nfor-people  hub  (not for models) Is for people.\n"
    )


def test_an_empty_library_succeeds_with_advice(skillhub: Skillhub, skills_dir: Path) -> None:
    skills_dir.mkdir(exist_ok=True)
    for command in (["list"], ["search", "x"], ["pick", "--list"]):
        done = skillhub(*command)
        assert (done.code, done.err) == (0, "")
        fix = "put a folder with a SKILL.md there, as `skillhub add SOURCE` and `skillhub new NAME` do"
        assert done.out == f"No skills:\n  {skills_dir}\n      has no skill\n      → {fix}\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", [["list"], ["search", "x"], ["pick", "--list"], ["search"]])
def test_each_mistake_that_hides_every_skill_fails_with_its_fix(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, command: list[str]
) -> None:
    nowhere, file, refused = tmp_path / "nowhere", tmp_path / "file", tmp_path / "refused"
    file.touch()
    write_skill("one", frontmatter="name: one", root=refused)
    (write_skill("two", root=refused) / "SKILL.md").write_text("no frontmatter", encoding="utf-8")
    write_skill("alpha", root=tmp_path / "good")

    def reported(where: Path, **settings: str) -> str:
        done = skillhub(*command, SKILLS_DIR=str(where), **settings)
        assert done.code == 1
        problems = skillhub(*command, "--json", SKILLS_DIR=str(where), **settings).json["problems"]
        assert all(problem["subject"] in done.out and problem["fix"] in done.out for problem in problems)
        return done.out

    assert f"{nowhere}\n      does not exist\n      → create it, or correct SKILLS_DIR" in reported(nowhere)
    assert (
        f"{file}\n      is a file, not a directory\n      → put a directory there, or correct SKILLS_DIR"
        in reported(file)
    )
    both = reported(refused)
    assert (
        f"{refused}/one/SKILL.md\n      is refused: there is no description (description-missing)\n      → describe"
        in both
    )
    assert f"{refused}/two/SKILL.md:1\n      is refused: the file does not start with a line ---" in both
    filtered = reported(tmp_path / "good", SKILLHUB_ENABLED_SKILLS="alhpa")
    assert "SKILLHUB_ENABLED_SKILLS\n      excludes 1 skill\n      → correct it" in filtered
    # However many are refused: none of them keeps back what the filter does.
    write_skill("alpha", root=refused)
    assert reported(refused, SKILLHUB_ENABLED_SKILLS="alhpa").startswith(
        "No skills:\n  SKILLHUB_ENABLED_SKILLS\n      excludes 1 skill\n      → correct it"
    )


def test_an_unknown_category_suggests_a_similar_one(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("a", category="docs")
    write_skill("b", category="data")
    for command in (["list"], ["search", "x"]):
        wrong = skillhub(*command, "--category", "doks")
        assert (wrong.code, wrong.err) == (1, "")
        assert "'doks'\n      is the category of no skill that is served\n      → did you mean 'docs'?" in wrong.out
        assert "categories: data, docs" in wrong.out


def test_disabled_skills_are_not_a_failure(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("a")
    skillhub("disable", "a")
    off = skillhub("list")
    assert (off.code, off.out) == (
        0,
        "No skills:\n  1 skill\n      switched off\n      → switch on with `skillhub enable NAME`\n",
    )


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
