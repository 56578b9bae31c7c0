"""`skillhub help`, and `skillhub` alone on a terminal: the commands by group, or the help of one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from skillhub_mcp.cli.arguments import Group, Parser
from skillhub_mcp.cli.colours import painter
from skillhub_mcp.cli.help_page import command_lines, screen_lines
from skillhub_mcp.cli.output import EXIT_OK
from skillhub_mcp.cli.pager import paging


def add_parser(subparsers: Any, root: Parser) -> None:
    """Add the command's parser; `root` is the whole program's."""
    parser = subparsers.add_parser(
        "help",
        group=Group.HELP,
        help="explain a command, or list them all",
        description="Print the help of a command, or without one the commands by group.",
    )
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="a command, such as `search` or `eval run`")
    parser.add_argument("--all", action="store_true", help="list every command, and the options that they share")
    parser.set_defaults(run=partial(_run, root))


def _run(root: Parser, args: argparse.Namespace, _options: Mapping[str, str]) -> int:
    if args.words or args.all:
        with paging(wanted=True):
            root.command(args.words).print_help()
    else:
        print_screen(root)
    return EXIT_OK


def print_screen(root: Parser) -> None:
    """Print the help that fits a screen."""
    # The lines are our own, and have colours.
    for line in screen_lines(command_lines(root), painter(sys.stdout, os.environ)):
        print(line)
