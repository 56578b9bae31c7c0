"""The command line: what was typed decides which verb runs; every failure ends here, as text and an exit code.

argparse, not cyclopts, although FastMCP brings the latter along: importing it would add a sixth to the time in
which a stdio server answers (docs/decisions/0002).
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from skillhub_mcp.cli.arguments import Parser, add_setting_options, setting_options
from skillhub_mcp.cli.commands import config, demo, index, list_, read, search, serve, show
from skillhub_mcp.cli.output import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, print_error
from skillhub_mcp.errors import InvalidArgument, InvalidSetting, SkillHubError

VERBS = (search, list_, show, read, index, demo, config)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="skillhub",
        description="Find, load and use Agent Skills. Without a command: serve them over MCP.",
        epilog="exit codes: 0 done, 1 failed, 2 misused, 3 a bug, 130 interrupted",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    add_setting_options(parser)
    serve.add_arguments(parser)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for verb in VERBS:
        verb.add_parser(verbs)
    return parser


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 misused, 3 a bug, 130 interrupted."""
    args = make_parser().parse_args(argv)
    if args.version:
        from skillhub_mcp.version import version

        print(f"skillhub-mcp {version()}")
        return EXIT_OK
    try:
        return int(getattr(args, "run", serve.run)(args, setting_options(args)))
    except SkillHubError as error:
        print_error(error, as_json=getattr(args, "json", False))
        return EXIT_USAGE if isinstance(error, InvalidArgument | InvalidSetting) else EXIT_FAILED
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception:  # noqa: BLE001 - the outermost edge: whatever arrives here is a bug, and is shown as one
        print(
            f"error: this is a bug in skillhub; please report it with what follows\n\n{traceback.format_exc()}",
            file=sys.stderr,
        )
        return EXIT_BUG
