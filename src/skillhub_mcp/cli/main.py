"""The command line: runs the command that was typed, and turns every failure into text and an exit code.

It uses argparse and not cyclopts, although FastMCP depends on that: FastMCP does not import it, and doing so would add
a sixth to the startup time of a stdio server (docs/decisions/0002).
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

from skillhub_mcp.cli.arguments import Parser, add_setting_options, setting_options
from skillhub_mcp.cli.commands import (
    agents,
    catalogue,
    choices,
    config,
    context,
    demo,
    doctor,
    eval_,
    index,
    inspect,
    list_,
    overlaps,
    permissions,
    pick,
    read,
    registry,
    resolve,
    search,
    serve,
    show,
    stats,
    token,
    validate,
)
from skillhub_mcp.cli.output import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    prepare_streams,
    print_error,
    printable,
)
from skillhub_mcp.errors import InvalidArgument, InvalidSetting, PolicyUnreadable, SkillHubError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

COMMANDS = (
    search,
    list_,
    show,
    read,
    pick,
    choices,
    permissions,
    catalogue,
    resolve,
    inspect,
    validate,
    index,
    registry,
    context,
    agents,
    eval_,
    overlaps,
    stats,
    token,
    demo,
    doctor,
    config,
)


def make_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="skillhub",
        description="Find, load and use Agent Skills. Without a command, serve them over MCP.",
        epilog="exit codes: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    add_setting_options(parser)
    serve.add_arguments(parser)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    for command in COMMANDS:
        command.add_parser(subparsers)
    parser.subcommands = subparsers.choices
    return parser


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted."""
    prepare_streams()
    try:
        code = _run(argv)
        # Buffered output is written here, where a failure to write can still be reported.
        sys.stdout.flush()
    except SkillHubError as error:
        path = error.path if isinstance(error, PolicyUnreadable) else None
        print_error(error, as_json="--json" in argv, path=path)
        return EXIT_USAGE if isinstance(error, InvalidArgument | InvalidSetting | PolicyUnreadable) else EXIT_FAILED
    except BrokenPipeError:
        # The reader of the output closed it, as `head` does: this is no failure, and nothing more can be printed.
        _drop_output()
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost handler: any other exception is a bug and reported as one
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            _drop_output()
            print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
            return EXIT_FAILED
        bug = f"error: this is a bug in skillhub; please report it with this traceback\n\n{traceback.format_exc()}"
        print(printable(bug), file=sys.stderr)
        return EXIT_BUG
    else:
        return code


def _run(argv: Sequence[str]) -> int:
    try:
        args = make_parser().parse(argv)
    except SystemExit:
        return EXIT_OK  # argparse printed the help
    if args.version:
        from skillhub_mcp.version import version

        print(f"skillhub-mcp {version()}")
        return EXIT_OK
    return int(getattr(args, "run", serve.run)(args, setting_options(args)))


def _drop_output() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
