"""The command line: runs the command that was typed, and turns every failure into text and an exit code.

It uses argparse and not cyclopts, although FastMCP depends on that: FastMCP does not import it, and doing so would add
a sixth to the startup time of a stdio server (docs/decisions/0002).
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Sequence

from skillhub_mcp.cli.arguments import COMMAND, PROGRAM, Parser, add_setting_options, setting_options
from skillhub_mcp.cli.commands import (
    agents,
    bundle,
    catalogue,
    choices,
    completion,
    config,
    connect,
    context,
    demo,
    disconnect,
    doctor,
    eval_,
    help_,
    index,
    inspect,
    list_,
    new,
    overlaps,
    permissions,
    pick,
    read,
    registry,
    resolve,
    roots,
    search,
    serve,
    show,
    stats,
    token,
    validate,
    version,
    why,
)
from skillhub_mcp.cli.help_page import command_lines, whole_list
from skillhub_mcp.cli.output import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    drop,
    prepare_streams,
    print_error,
    print_note,
)
from skillhub_mcp.errors import (
    InvalidArgument,
    InvalidSetting,
    PolicyUnreadable,
    PolicyUnwritable,
    SkillHubError,
    SkillNotFound,
)
from skillhub_mcp.nul import refuse_nul

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# In the order of the groups, which help keeps.
COMMANDS = (
    search,
    list_,
    show,
    pick,
    why,
    read,
    resolve,
    catalogue,
    registry,
    context,
    agents,
    new,
    validate,
    overlaps,
    inspect,
    choices,
    permissions,
    roots,
    config,
    token,
    connect,
    disconnect,
    serve,
    bundle,
    doctor,
    index,
    demo,
    eval_,
    stats,
    version,
)


def make_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog=PROGRAM,
        usage="%(prog)s [OPTION …] COMMAND …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Without a command, the options of `skillhub serve` serve over MCP, and so does\n"
        "`skillhub` alone where its input is no terminal. `skillhub --reindex [--json]`\n"
        "rebuilds the index, prints a report and ends.\n\n"
        "exit codes: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    add_setting_options(parser)
    serve.add_options_without_command(parser)
    subparsers = parser.add_subparsers(
        metavar=COMMAND, dest="command", parser_class=Parser, prog=PROGRAM, help=argparse.SUPPRESS
    )
    parser.subcommands = subparsers.choices
    for command in COMMANDS:
        command.add_parser(subparsers)
    for about in (help_, completion):
        about.add_parser(subparsers, parser)
    parser.description = f"Find, load and use Agent Skills.\n\n{whole_list(command_lines(parser))}"
    return parser


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted."""
    prepare_streams()
    code = _reported(argv)
    for stream in (sys.stdout, sys.stderr):
        try:
            # What is left of a command that failed, and of its log, is lost where it cannot be written.
            stream.flush()
        except OSError:
            drop(stream)
    return code


def _reported(argv: Sequence[str]) -> int:
    try:
        code = _run(argv)
        # Buffered output is written here, where a failure to write can still be reported.
        sys.stdout.flush()
    except SkillHubError as error:
        path = error.path if isinstance(error, PolicyUnreadable | PolicyUnwritable | SkillNotFound) else None
        print_error(error, as_json="--json" in argv, path=path)
        return EXIT_USAGE if isinstance(error, InvalidArgument | InvalidSetting | PolicyUnreadable) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost handler: any other exception is a bug and reported as one
        unwritable = _unwritable_output(error)
        if unwritable is not None:
            drop(sys.stdout)
            if isinstance(unwritable, BrokenPipeError):
                # The reader of the output closed it, as `head` does: this is no failure.
                return EXIT_OK
            print_note(f"error: the output cannot be written: {unwritable.strerror}")
            return EXIT_FAILED
        print_note(
            f"error: this is a bug in skillhub; please report it with this traceback\n\n{traceback.format_exc()}"
        )
        return EXIT_BUG
    else:
        return code


def _run(argv: Sequence[str]) -> int:
    try:
        refuse_nul(arguments=argv)
        parser = make_parser()
        args = parser.parse(argv)
    except SystemExit:
        return EXIT_OK  # argparse printed the help
    if args.version:
        return version.run(args, {})
    if args.command is None:
        serving = parser.serving_options(args) or args.skip_auto_reindex
        if sys.stdin.isatty() and not serving:
            help_.print_screen(parser)
            return EXIT_OK
        return serve.run(args, setting_options(args))
    return int(args.run(args, setting_options(args)))


def _unwritable_output(error: BaseException) -> OSError | None:
    """Return the failure to write to stdout that `error` is, or that a server's tasks failed with; None for others."""
    parts = getattr(error, "exceptions", None)
    if parts is not None:
        found = [_unwritable_output(part) for part in parts]
        return found[0] if all(found) else None
    if not isinstance(error, OSError) or error.filename is not None:
        return None
    if isinstance(error, BrokenPipeError) or error.errno in _NO_ROOM:
        return error
    try:
        os.write(sys.stdout.fileno(), b"")
    except OSError as failure:
        # The same failure again: stdout was closed, or its terminal is gone.
        return error if failure.errno == error.errno else None
    return None
