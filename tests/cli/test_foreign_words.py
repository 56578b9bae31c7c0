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
    assert named
    for command, action in named:
        assert command in COMMANDS
        assert not action or action in COMMANDS[command].subcommands


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["install", "team/pdf"], "hint: skillhub add team/pdf"),
        (["install"], "hint: skillhub add"),
        (["get", "git@git.example:team/a;b"], "hint: skillhub add 'git@git.example:team/a;b'"),
        (["uninstall", "pdf"], "`skillhub remove pdf`"),
        (["upgrade", "pdf"], "hint: skillhub update pdf"),
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


def test_a_directory_that_exists_is_no_longer_searched(tmp_path: Path) -> None:
    told = advice("rm", ["--yes", str(tmp_path)])
    assert told is not None
    assert told.hint.startswith(f"`skillhub roots remove {tmp_path}`")


def test_a_word_that_nobody_knows_has_no_advice() -> None:
    assert advice("xyzzy", ()) is None
