"""The help that fits a screen, and the whole list of commands."""

from __future__ import annotations

from skillhub_mcp.cli.arguments import Group
from skillhub_mcp.cli.colours import Painter
from skillhub_mcp.cli.help_page import CommandLine, command_lines, screen_lines, whole_list
from skillhub_mcp.cli.main import make_parser

LINES = (
    CommandLine("rare", "does what few need", Group.FIND, everyday=False),
    CommandLine("find", "finds", Group.FIND, everyday=True),
    CommandLine("measure", "measures", Group.MEASURE, everyday=True),
    CommandLine("help", "helps", Group.HELP, everyday=False),
)


def test_every_command_names_its_group() -> None:
    root = make_parser()
    assert {line.name for line in command_lines(root)} == set(root.subcommands)


def test_every_command_says_what_it_does_in_one_line_of_a_narrow_terminal() -> None:
    lines = command_lines(make_parser())
    names = max(len(line.name) for line in lines)
    assert [line.name for line in lines if not line.summary or len(line.summary) + names > 76] == []


def test_the_screen_has_a_line_for_an_everyday_command_and_the_names_of_the_others() -> None:
    assert list(screen_lines(LINES, Painter()))[2:-1] == [
        "Find     find     finds",
        "Measure  measure  measures",
        "",
        "also: rare",
    ]


def test_the_whole_list_has_every_command_below_its_group_the_everyday_ones_first() -> None:
    assert whole_list(LINES).split("\n\n") == [
        "Find:\n  find     finds\n  rare     does what few need",
        "Measure:\n  measure  measures",
        "Help:\n  help     helps",
    ]
