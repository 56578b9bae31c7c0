"""`skillhub show`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter


def test_what_is_known_of_a_skill_is_printed_and_then_its_whole_body(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
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
def test_json_shows_every_field_and_old_keys_change_nothing(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    old = "allowed-tools: Bash(git:*), Read\nlicense: MIT\ncompatibility: any\nruntime: python\nrequires_setup: true"
    directory = write_skill("one", "Does one thing.", body="Do it.\n", extra=old)
    assert skillhub("show", "one", "--json").json == {
        "name": "one",
        "handle": "one",
        "source": "hub",
        "trust": "own",
        "description": "Does one thing.",
        "category": None,
        "tags": [],
        "always_apply": False,
        "allowed_tools": ["Bash(git:*)", "Read"],
        "disable_model_invocation": False,
        "user_invocable": True,
        "version": None,
        "author": None,
        "license": "MIT",
        "compatibility": "any",
        "metadata": {},
        "path": str(directory.resolve()),
        "files": [{"path": "SKILL.md", "size": (directory / "SKILL.md").stat().st_size}],
        "more_files": False,
        "tokens": 2,
        "audit": [],
        "lock": {"state": "unlocked"},
        "diagnostics": [
            {"rule": "key-unknown", "severity": "error", "line": 7, "message": "'runtime' is not a specified key"},
            {
                "rule": "key-unknown",
                "severity": "error",
                "line": 8,
                "message": "'requires_setup' is not a specified key",
            },
        ],
        "instructions": "Do it.\n",
    }


def test_a_broken_rule_is_shown_with_its_line_and_what_mends_it(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one", extra="homepage: https://x.y")
    told = skillhub("show", "one").out
    assert "error:         'homepage' is not a specified key (line 4); move it under metadata, unless a host" in told


def test_a_name_that_is_nearly_right_is_guessed(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("pdf-reader")
    done = skillhub("show", "pdf-raeder")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: No skill is named 'pdf-raeder'\n\nhint: did you mean 'pdf-reader'?\n"


def test_a_skill_that_is_not_enabled_is_not_shown(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    done = skillhub("show", "one", "--json", SKILLHUB_ENABLED_SKILLS="other")
    assert (done.code, done.out) == (1, "")
    assert (done.error["code"], done.error["setting"]) == ("SKILL_DISABLED", "SKILLHUB_ENABLED_SKILLS")


def test_where_nothing_is_served_the_cause_is_told_with_its_path(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    missing = skillhub("show", "any", SKILLS_DIR=str(tmp_path / "missing"))
    assert missing.code == 1
    assert f"{tmp_path}/missing does not exist; create it, or correct SKILLS_DIR" in missing.err
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")
    refused = skillhub("show", "silent")
    assert "refused at line 3: there is no description (description-missing)" in refused.err
    assert f"({silent}/SKILL.md)" in refused.err
    other = skillhub("show", "any", "--json")
    assert f"{silent}/SKILL.md:3 is refused" in other.error["hint"]
    write_skill("good")
    assert "is refused" not in skillhub("show", "any").err


@pytest.mark.parametrize("typed", ["./one", "sub/../one", "one/SKILL.md", "./one/SKILL.md", "~/skills/one"])
@pytest.mark.parametrize("command", ["show", "disable", "why"])
def test_a_path_that_begins_in_the_working_directory_or_at_home_means_the_skill_there(
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


def test_a_name_means_the_skill_where_a_directory_has_it_too_or_there_is_no_working_directory(
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


def test_nothing_for_a_name_is_told_in_the_words_of_a_shell(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    for arguments in (
        ["show", ""],
        ["show", "", "--file", "a"],
        ["enable", ""],
        ["why", ""],
    ):
        done = skillhub(*arguments)
        assert (done.code, done.err) == (2, "error: NAME is empty\n\nhint: `skillhub list` has the names\n")


def test_what_an_error_has_no_room_for_a_command_of_a_shell_finds(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(21):
        write_skill(f"number-{number}")
    assert skillhub("show", "zzz").err.endswith(" and 1 more, which `skillhub search` finds\n")


@pytest.mark.parametrize("name", ["./local", "~/of a home", ".net tools", "a/b", "/not/there", "-dash", "SKILL.md"])
def test_every_name_that_a_client_may_ask_for_is_shown(skillhub: Skillhub, write_skill: SkillWriter, name: str) -> None:
    write_skill("odd", frontmatter=f"name: '{name}'\ndescription: Has an odd name.", body="Of the odd one.")
    done = skillhub("show", "--", name)
    assert done.err == ""
    assert done.out.endswith("Of the odd one.\n")
