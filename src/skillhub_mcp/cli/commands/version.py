"""`skillhub version`: which SkillHub this is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group
from skillhub_mcp.cli.output import EXIT_OK, print_text
from skillhub_mcp.version import version


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "version", group=Group.HELP, help="print the version", description="Print the version, as --version does."
    )
    parser.set_defaults(run=run)


def run(_args: argparse.Namespace, _options: Mapping[str, str]) -> int:
    """Print the version."""
    print_text(f"skillhub-mcp {version()}")
    return EXIT_OK
