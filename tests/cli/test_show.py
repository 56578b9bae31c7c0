"""`skillhub show`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def test_metadata_is_printed_before_the_whole_body(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    body = "# Steps\n\n---\n" + "one more line\n" * 10_000
    directory = write_skill(
        "one", "Does\n  one thing.", body=body, category="Docs", tags="a, b", files={"notes/a.md": "x"}
    )
    done = skillhub("show", "one")
    assert (done.code, done.err) == (0, "")
    facts, _, shown = done.out.partition("\n\n")
    assert shown == body + "\n"
    assert dict(line.split(maxsplit=1) for line in facts.splitlines() if not line.startswith("allowed")) == {
        "name:": "one",
        "source:": "hub",
        "description:": "Does one thing.",
        "category:": "docs",
        "tags:": "a, b",
        "path:": str(directory.resolve()),
        "files:": "SKILL.md, notes/a.md",
        "cost:": "about 35,004 tokens",
    }


@pytest.mark.acceptance("S2-57", "S2-60")
def test_json_has_the_frontmatter_and_diagnoses_unknown_keys(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    old = "allowed-tools: Bash(git:*), Read\nlicense: MIT\ncompatibility: any\nruntime: python\nrequires_setup: true"
    directory = write_skill("one", "Does one thing.", body="Do it.\n", extra=old)
    shown = skillhub("show", "one", "--json").json
    assert (shown["path"], shown["instructions"]) == (str(directory.resolve()), "Do it.\n")
    assert (shown["allowed_tools"], shown["license"], shown["compatibility"]) == (["Bash(git:*)", "Read"], "MIT", "any")
    assert [(one["rule"], one["line"], one["message"]) for one in shown["diagnostics"]] == [
        ("key-unknown", 7, "'runtime' is not a specified key"),
        ("key-unknown", 8, "'requires_setup' is not a specified key"),
    ]


def test_a_violation_is_shown_with_its_line_and_fix(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one", extra="homepage: https://x.y")
    shown = skillhub("show", "one").out
    assert "error:         'homepage' is not a specified key (line 4); move it under metadata, unless a host" in shown


def test_a_similar_name_is_suggested(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader")
    done = skillhub("show", "pdf-raeder")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: No skill is named 'pdf-raeder'\n\nhint: did you mean 'pdf-reader'?\n"


@pytest.mark.parametrize("typed", ["./one", "sub/../one", "one/SKILL.md", "./one/SKILL.md", "~/skills/one"])
@pytest.mark.parametrize("command", ["show", "disable", "why"])
def test_a_relative_or_home_path_names_a_skill(
    skillhub: Skillhub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, command: str, typed: str
) -> None:
    directory = write_skill("named-otherwise", directory="one")
    (directory.parent / "sub").mkdir()
    monkeypatch.chdir(directory.parent)
    monkeypatch.setenv("HOME", str(directory.parent.parent))
    done = skillhub(command, typed)
    assert (done.code, "named-otherwise" in done.out) == (0, True), done.err
    monkeypatch.chdir(directory)
    assert skillhub(command, ".").code == 0


def test_a_bare_name_is_never_a_directory(
    skillhub: Skillhub, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    directory = write_skill("one")
    (tmp_path / "gone" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "gone")
    assert str(directory.resolve()) in skillhub("show", "one").out
    (tmp_path / "gone" / "one").rmdir()
    (tmp_path / "gone").rmdir()
    assert skillhub("show", "one").code == 0
    assert skillhub("show", "./one").code == 1


def test_an_empty_name_is_a_usage_error(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    for arguments in (["show", ""], ["show", "", "--file", "a"], ["enable", ""], ["why", ""]):
        done = skillhub(*arguments)
        assert (done.code, done.err) == (2, "error: NAME is empty\n\nhint: `skillhub list` has the names\n")


@pytest.mark.parametrize("name", ["./local", "~/of a home", ".net tools", "a/b", "/not/there", "-dash", "SKILL.md"])
def test_odd_names_are_shown(skillhub: Skillhub, write_skill: SkillWriter, name: str) -> None:
    write_skill("odd", frontmatter=f"name: '{name}'\ndescription: Has an odd name.", body="Of the odd one.")
    done = skillhub("show", "--", name)
    assert done.err == ""
    assert done.out.endswith("Of the odd one.\n")
