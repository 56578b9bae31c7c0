"""What is said to words that people know from other tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub

from skillhub_mcp.cli.foreign_words import WORDS, advice
from skillhub_mcp.cli.main import make_parser

COMMANDS = make_parser().subcommands


def test_no_word_is_a_command_itself() -> None:
    assert WORDS & set(COMMANDS) == set()


@pytest.mark.parametrize("word", sorted(WORDS))
def test_every_word_is_answered_with_commands_that_exist(word: str) -> None:
    told = advice(word, ())
    assert told is not None
    named = re.findall(r"(?:^|`)skillhub ([\w-]+)(?: (add|remove))?", told.hint)
    assert named or "git pull" in told.hint
    for command, action in named:
        assert command in COMMANDS
        assert not action or action in COMMANDS[command].subcommands


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (
            ["add", "https://git.example/team/skills.git"],
            "git clone https://git.example/team/skills.git ~/.skillhub/skills/skills",
        ),
        (["install", "team/pdf"], "git clone URL ~/.skillhub/skills/pdf"),
        (["add", "git@git.example:team/a;b"], "git clone 'git@git.example:team/a;b' ~/.skillhub/skills/'a;b'"),
        (["install", "./pdf"], "copy a skill's directory, or `git clone` a repository of skills, into"),
        (["install"], "copy a skill's directory, or `git clone` a repository of skills, into ~/.skillhub/skills"),
        (["uninstall", "pdf"], "`skillhub remove pdf`"),
        (["update", "pdf"], "run `git pull` in their directory"),
        (["find", "two words", "pdf"], "hint: skillhub search 'two words' pdf"),
        (["init", "pdf"], "hint: skillhub new pdf"),
        (["Start"], "hint: skillhub serve"),
    ],
    ids=lambda typed: " ".join(typed) if isinstance(typed, list) else "",
)
def test_a_word_of_another_tool_is_answered_with_what_to_type_instead(
    skillhub: Skillhub, typed: list[str], hint: str
) -> None:
    done = skillhub(*typed, SKILLS_DIR="")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: '{typed[0]}' is not a command of 'skillhub'")
    assert hint in done.err


@pytest.mark.parametrize(("word", "command"), [("add", "roots add"), ("rm", "roots remove")])
def test_a_directory_that_exists_is_served_from_where_it_is(tmp_path: Path, word: str, command: str) -> None:
    told = advice(word, ["--yes", str(tmp_path)])
    assert told is not None
    assert told.hint.startswith(f"`skillhub {command} {tmp_path}`")


@pytest.mark.parametrize(
    ("chosen", "place"),
    [
        ("/srv/our skills:/more", "'/srv/our skills'/pdf"),
        ("~/library", "~/library/pdf"),
        ("s3://bucket", "~/.skillhub/skills/pdf"),
    ],
)
def test_skills_are_brought_to_where_they_are_looked_for(skillhub: Skillhub, chosen: str, place: str) -> None:
    done = skillhub("add", "team/pdf", SKILLS_DIR=chosen)
    assert done.err.endswith(f"git clone URL {place}\n")


def test_a_word_that_nobody_knows_has_no_advice() -> None:
    assert advice("xyzzy", ()) is None
