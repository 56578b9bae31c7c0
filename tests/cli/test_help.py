"""The text of `--help` of every command, in golden files. `SKILLHUB_UPDATE_GOLDEN=1` rewrites them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import is_golden

from skillhub_mcp.cli.arguments import Parser
from skillhub_mcp.cli.main import make_parser

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"


def commands(parser: Parser, typed: str = "") -> Iterator[str]:
    """Yield every command line that has a help of its own, as it is typed."""
    yield typed
    for word, verb in parser.subcommands.items():
        yield from commands(verb, f"{typed} {word}".strip())


COMMANDS = tuple(commands(make_parser()))


@pytest.mark.skipif(
    sys.version_info[:2] not in {(3, 11), (3, 12)}, reason="argparse lays its help out otherwise in other versions"
)
@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_the_golden_one(skillhub: Skillhub, command: str) -> None:
    done = skillhub(*command.split(), "--help", COLUMNS="100")
    is_golden(f"cli/{command.replace(' ', '-') or 'skillhub'}.txt", done.out)


def test_every_command_has_a_golden_help() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {
        command.replace(" ", "-") or "skillhub" for command in COMMANDS
    }
