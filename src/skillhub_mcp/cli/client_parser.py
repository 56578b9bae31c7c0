"""The options that `connect` and `disconnect` share. What they mean is in `client_options`, loaded when one runs."""

from __future__ import annotations

import argparse

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options


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
    add_setting_options(parser)
