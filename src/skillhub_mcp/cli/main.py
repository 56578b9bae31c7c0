"""The command line: what was typed decides which verb runs; every failure ends here, as text and an exit code.

argparse, not cyclopts, although FastMCP brings the latter along: importing it would add a sixth to the time in
which a stdio server answers (docs/decisions/0002).
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

VERBS = (
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
        description="Find, load and use Agent Skills. Without a command: serve them over MCP.",
        epilog="exit codes: 0 done, 1 failed, 2 misused, 3 a bug, 130 interrupted",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    add_setting_options(parser)
    serve.add_arguments(parser)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", parser_class=Parser)
    for verb in VERBS:
        verb.add_parser(verbs)
    parser.verbs = verbs.choices
    return parser


def run(argv: Sequence[str]) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 misused, 3 a bug, 130 interrupted."""
    prepare_streams()
    try:
        code = _run(argv)
        # What is still held back is written here, where a failure to do so can be told.
        sys.stdout.flush()
    except SkillHubError as error:
        path = error.path if isinstance(error, PolicyUnreadable) else None
        print_error(error, as_json="--json" in argv, path=path)
        return EXIT_USAGE if isinstance(error, InvalidArgument | InvalidSetting | PolicyUnreadable) else EXIT_FAILED
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: nothing is wrong, and nothing more can be said.
        _drop_output()
        return EXIT_OK
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost edge: whatever else arrives here is a bug, and is shown as one
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            _drop_output()
            print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
            return EXIT_FAILED
        bug = f"error: this is a bug in skillhub; please report it with what follows\n\n{traceback.format_exc()}"
        print(printable(bug), file=sys.stderr)
        return EXIT_BUG
    else:
        return code


def _run(argv: Sequence[str]) -> int:
    try:
        args = make_parser().parse(argv)
    except SystemExit:
        return EXIT_OK  # argparse has printed the help that was asked for
    if args.version:
        from skillhub_mcp.version import version

        print(f"skillhub-mcp {version()}")
        return EXIT_OK
    return int(getattr(args, "run", serve.run)(args, setting_options(args)))


def _drop_output() -> None:
    """Let Python's own flush at its exit find somewhere to write to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
