"""The command line: runs the command that was typed, and turns every failure into text and an exit code.

It uses argparse and not cyclopts, which FastMCP depends on: importing that would add a sixth to the start of a stdio
server (docs/decisions/0002).
"""

from __future__ import annotations

import argparse
import errno
import inspect
import io
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from skillhub_mcp.cli.arguments import (
    COMMAND,
    PROGRAM,
    SERVE,
    Parser,
    add_setting_options,
    add_shared_options,
    setting_options,
)
from skillhub_mcp.cli.commands import COMMANDS, GROUPS
from skillhub_mcp.cli.console import drop, print_note, print_text
from skillhub_mcp.cli.output import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    prepare_streams,
    print_error,
)
from skillhub_mcp.cli.renames import ALIASES
from skillhub_mcp.errors import (
    InvalidArgument,
    InvalidSetting,
    PolicyUnreadable,
    PolicyUnwritable,
    SkillHubError,
    SkillNotFound,
)
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.version import version

HELP = "help"
_VERSION = "--version"
# A broken pipe and a full disk.
_UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_EPILOG = """\
`skillhub help COMMAND` explains a command. Without one, `skillhub` serves over
MCP if its input is not a terminal, with the options of `skillhub serve`;
`skillhub --reindex [--json]` rebuilds the index, prints a report and ends.

exit codes: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted"""


def make_parser(commands: Iterable[str] = COMMANDS) -> Parser:
    """Return the parser of the whole command line, or one that knows only some commands."""
    groups = (
        "\n".join([f"{group}:", *(f"  {one.name:<11} {one.summary}" for one in members)])
        for group, members in GROUPS.items()
    )
    parser = Parser(
        prog=PROGRAM,
        usage="%(prog)s [OPTION …] COMMAND …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="\n\n".join(["Find, load and use Agent Skills.", *groups]),
        epilog=_EPILOG,
    )
    parser.add_argument(_VERSION, action="store_true", help="print the version and exit")
    add_setting_options(parser)
    # Every command can leave the index as it is; help names the variable.
    skipping = parser.add_argument("--skip-auto-reindex", dest="SKILLHUB_SKIP_AUTO_REINDEX", action="store_true")
    skipping.default = skipping.help = argparse.SUPPRESS
    subparsers = parser.add_commands(
        metavar=COMMAND, dest="command", prog=PROGRAM, help=argparse.SUPPRESS, required=True
    )
    for name in commands:
        _add_command(subparsers, name)
    explaining = subparsers.add_parser(
        HELP, help="explain a command", description="Print the help of a command, or the commands by group."
    )
    explaining.add_argument("words", nargs="*", metavar="COMMAND", help="a command, such as `search` or `eval run`")
    return parser


def _add_command(subparsers: Any, name: str) -> None:
    command = COMMANDS[name]
    module = import_module(f"skillhub_mcp.cli.commands.{command.module or name}")
    epilog = getattr(module, "EPILOG", "")
    parser: Parser = subparsers.add_parser(
        name,
        # shtab completes only commands with help.
        help=command.summary,
        description=inspect.getdoc(module.run),
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter if "\n" in epilog else argparse.HelpFormatter,
    )
    parser.set_defaults(run=module.run)
    module.add_arguments(parser, name)
    if name != SERVE:
        add_shared_options(parser, writes=command.writes)


def with_command(argv: Sequence[str]) -> list[str]:
    """Return the arguments with a command first, if they are options alone, as in clients' entries.

    These are the options of `serve`, except that `--reindex` without a transport only rebuilds the index.
    """
    if not argv:
        return [HELP if sys.stdin.isatty() else SERVE]
    if not argv[0].startswith("-") or {*COMMANDS, HELP, "-h", "--help", _VERSION}.intersection(argv):
        return [ALIASES.get(argv[0], argv[0]), *argv[1:]]
    if "--reindex" in argv and not any(word.startswith("--transport") for word in argv):
        return ["index", "--rebuild", *(word for word in argv if word != "--reindex")]
    return [SERVE, *argv]


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments. Raises InvalidArgument, and SystemExit after printing help.

    Only the module of the command that was typed is imported, which saves most of the time of a short command. If it
    cannot be parsed that way, all commands are known, so that hints can name others.
    """
    if argv[0] in COMMANDS:
        with suppress(InvalidArgument):
            return make_parser(argv[:1]).parse(argv)
    return make_parser().parse(argv)


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 usage error, 3 bug, 130 interrupted."""
    prepare_streams()
    code = _reported(argv)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            drop(stream)
    return code


def _reported(argv: Sequence[str]) -> int:
    try:
        code = _run(argv)
        # Buffered output is written here, so that a failure can still be reported.
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
                # Only a server gets here: its client is gone.
                return EXIT_OK
            print_note(f"error: the output cannot be written: {unwritable.strerror}")
            return EXIT_FAILED
        trace = traceback.format_exc().split("\n")
        print_note("error: this is a bug in skillhub; please report it with this traceback", "", *trace)
        return EXIT_BUG
    return code


def _run(argv: Sequence[str]) -> int:
    refuse_nul(arguments=argv)
    if argv[:1] == [_VERSION]:
        print_text(f"skillhub-mcp {version()}")
        return EXIT_OK
    try:
        args = _parse(with_command(argv))
    except SystemExit:
        return EXIT_OK  # argparse printed the help
    if args.command == SERVE:
        return int(args.run(args, setting_options(args)))
    _outlive_reader()
    with ending_in_order():
        if args.command == HELP:
            make_parser().command(args.words).print_help()
            return EXIT_OK
        return int(args.run(args, setting_options(args)))


class _UntilReaderLeaves(io.FileIO):
    """A pipe that turns into the null device once its reader closed it, so that the command finishes its work."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            drop(self)
            return len(data)


def _outlive_reader() -> None:
    """Let the command finish, with its own exit code, although the reader of stdout has left."""
    stdout = sys.stdout
    if stdout is not sys.__stdout__ or not isinstance(stdout, io.TextIOWrapper) or stdout.isatty():
        return
    raw = _UntilReaderLeaves(stdout.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=stdout.encoding, errors=stdout.errors)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP, so that temporary files are removed and child processes ended.

    A signal that is ignored, as under `nohup`, stays ignored.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    changed = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _unwritable_output(error: BaseException) -> OSError | None:
    """Return the failure to write to stdout that `error` is, or that a server's tasks failed with; None for others."""
    parts: Sequence[BaseException] = (error,)
    while len(parts) == 1:
        error = parts[0]
        parts = getattr(error, "exceptions", ())
    return error if isinstance(error, OSError) and error.filename is None and error.errno in _UNWRITABLE else None
