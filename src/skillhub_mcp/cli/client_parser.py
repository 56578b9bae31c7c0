"""The options that `connect` and `disconnect` share. What they mean is in `client_options`, loaded when one runs."""

from __future__ import annotations

import argparse

from skillhub_mcp.cli.arguments import add_json_option


def add_client_options(parser: argparse.ArgumentParser, *, every: str) -> None:
    """Add the clients, and the options that say which of their files is meant and how it is changed."""
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="client; `skillhub connect --list` lists them")
    parser.add_argument("--all", action="store_true", help=every)
    parser.add_argument(
        "--scope",
        choices=("user", "project"),
        default="user",
        help="your own file, or the project's, which all who work on it share (default: user)",
    )
    parser.add_argument("--name", default="skillhub", help="name of the connection (default: skillhub)")
    parser.add_argument("--dry-run", action="store_true", help="show the difference and change nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json_option(parser)
    parser.add_argument(
        "--cwd", metavar="DIR", default=argparse.SUPPRESS, help="working directory; overrides SKILLHUB_CWD"
    )
    # Known, so that whoever chooses skills with one is told what does that.
    for option in ("--skills-dir", "--roots"):
        parser.add_argument(option, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
