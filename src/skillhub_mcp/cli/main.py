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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from skillhub_mcp.cli.arguments import COMMAND, PROGRAM, SERVE, Parser, add_setting_options, setting_options
from skillhub_mcp.cli.commands import serve
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
from skillhub_mcp.input_checks import refuse_nul

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# The module of each command, in the order of the groups, which help keeps.
_MODULES: Mapping[str, str] = {
    "search": "search",
    "list": "list_",
    "show": "show",
    "pick": "pick",
    "why": "why",
    "read": "read",
    "resolve": "resolve",
    "catalogue": "catalogue",
    "registry": "registry",
    "context": "context",
    "agents": "agents",
    "new": "new",
    "validate": "validate",
    "audit": "audit",
    "overlaps": "overlaps",
    "inspect": "inspect",
    "add": "add",
    "outdated": "outdated",
    "update": "update",
    "remove": "remove",
    "lock": "lock",
    "verify": "verify",
    "disable": "choices",
    "enable": "choices",
    "permissions": "permissions",
    "roots": "roots",
    "trust": "trust",
    "config": "config",
    "token": "token",
    "connect": "connect",
    "disconnect": "disconnect",
    SERVE: "serve",
    "bundle": "bundle",
    "doctor": "doctor",
    "index": "index",
    "publish": "publish",
    "demo": "demo",
    "eval": "eval_",
    "stats": "stats",
    "version": "version",
}
# These say something of all others.
_ABOUT_COMMANDS = ("help_", "completion")


def make_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser, subparsers = _parser_of(_MODULES)
    for module in _ABOUT_COMMANDS:
        _command(module).add_parser(subparsers, parser)
    parser.description = f"Find, load and use Agent Skills.\n\n{whole_list(command_lines(parser))}"
    return parser


def _parser_of(commands: Iterable[str]) -> tuple[Parser, Any]:
    """Return a parser that knows those commands, and what adds others to it."""
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
    # Two commands may be of one module.
    for module in dict.fromkeys(_MODULES[command] for command in commands):
        _command(module).add_parser(subparsers)
    return parser, subparsers


def _command(module: str) -> Any:
    return import_module(f"skillhub_mcp.cli.commands.{module}")


def _parse(argv: Sequence[str]) -> tuple[Parser, argparse.Namespace]:
    """Return the parser and what it parsed. Raises InvalidArgument, and SystemExit after printing help.

    Importing every command takes longer than most commands, so only the one that is typed is imported. What cannot be
    parsed with it is parsed with all of them, whose hints may name others.
    """
    first = argv[0] if argv else ""
    if first in _MODULES or (first[:1] in ("", "-") and not {"-h", "--help"}.intersection(argv)):
        parser, _ = _parser_of([first] if first in _MODULES else [])
        with suppress(InvalidArgument):
            return parser, parser.parse(argv)
    parser = make_parser()
    return parser, parser.parse(argv)


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
        return EXIT_USAGE if isinstance(error, InvalidArgument | InvalidSetting) else EXIT_FAILED
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
        parser, args = _parse(argv)
    except SystemExit:
        return EXIT_OK  # argparse printed the help
    if args.version:
        return int(_command("version").run(args, {}))
    if args.command is None:
        if sys.stdin.isatty() and not (parser.serving_options(args) or args.skip_auto_reindex):
            _command("help_").print_screen(make_parser())
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
