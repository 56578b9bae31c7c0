"""Parsing of the command line: the parser, the options that commands share, and the errors for wrong usage."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from skillhub_mcp.errors import InvalidArgument

# argparse's messages differ between Python versions; these three kinds are replaced by messages of ours.
_ABOUT_ONE = re.compile(r"argument (?P<argument>[^:]+): (?P<reason>.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '(?P<typed>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL)
_REQUIRED = re.compile(r"the following arguments are required: (?P<arguments>.*)")

# Options that set a setting and override the environment.
_SETTING_OPTIONS = {
    "skills_dir": "SKILLS_DIR",
    "roots": "SKILLHUB_ROOTS",
    "cwd": "SKILLHUB_CWD",
    "db_path": "DB_PATH",
    "log_level": "LOG_LEVEL",
    "skip_auto_reindex": "SKILLHUB_SKIP_AUTO_REINDEX",
    "enable_run": "SKILLHUB_ENABLE_RUN",
    "enable_run_over_http": "SKILLHUB_ENABLE_RUN_OVER_HTTP",
    "allow_anonymous": "SKILLHUB_ALLOW_ANONYMOUS",
    "workers": "SKILLHUB_WORKERS",
}
# Options for serving. Before a command they would be ignored silently, so they are refused there.
_SERVING_OPTIONS = {
    "transport": "--transport",
    "host": "--host",
    "port": "--port",
    "reindex": "--reindex",
    "reindex_json": "--json",
    "enable_run": "--enable-run",
    "enable_run_over_http": "--enable-run-over-http",
    "allow_anonymous": "--allow-anonymous",
    "workers": "--workers",
}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InvalidArgument instead of exiting, with suggestions for mistyped words.

    `subcommands` holds the parsers of its commands by name.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self.subcommands: Mapping[str, Parser] = {}

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the parsed arguments. Raises InvalidArgument, and SystemExit after printing `--help`."""
        args, unknown = self.parse_known_args(argv)
        command = self.subcommands.get(args.command)
        if command is not None and command.subcommands:
            command = command.subcommands[args.action]
        if unknown:
            (command or self).refuse(unknown[0])
        if command is not None:
            for option, typed in _SERVING_OPTIONS.items():
                if getattr(args, option) != self.get_default(option):
                    if typed in command.format_usage():
                        command.refuse(typed)
                    raise InvalidArgument(typed, f"cannot be used with {args.command!r}", hint="remove one of the two")
        return args

    def print_help(self, file: Any = None) -> None:
        # argparse ignores that help cannot be written.
        (sys.stdout if file is None else file).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        required = _REQUIRED.fullmatch(message)
        if required is not None:
            raise InvalidArgument(required["arguments"], "is required", hint=self._help)
        about = _ABOUT_ONE.fullmatch(message)
        if about is None:
            raise InvalidArgument(self.prog, f"cannot be run this way: {message}", hint=self._help)
        choice = _CHOICE.fullmatch(about["reason"])
        if choice is not None:
            choices = re.findall(r"[\w-]+", choice["choices"])
            near = difflib.get_close_matches(choice["typed"], choices, n=1)
            hint = f"did you mean {near[0]!r}?" if near else self._help
            raise InvalidArgument(
                about["argument"], f"{choice['typed']!r} is not one of {', '.join(choices)}", hint=hint
            )
        reason = "requires a value" if about["reason"].startswith("expected ") else about["reason"]
        raise InvalidArgument(about["argument"], reason, hint=self._help)

    @property
    def _help(self) -> str:
        return f"{self.prog} --help"

    def refuse(self, typed: str) -> NoReturn:
        """Raise InvalidArgument for an argument or option that this command does not accept."""
        if not typed.startswith("-"):
            raise InvalidArgument(repr(typed), "is an unexpected argument", hint=self._help)
        option = typed.partition("=")[0]
        known = re.findall(r"--[\w-]+", self.format_usage())
        if option in known:
            raise InvalidArgument(option, "must follow the command", hint=f"{self.prog} {option}")
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else self._help
        raise InvalidArgument(option, f"is not an option of {self.prog!r}", hint=hint)


def add_actions(parser: Parser) -> Any:
    """Add required actions to a command and return the object that adds their parsers."""
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", dest="action", required=True, parser_class=Parser
    )
    parser.subcommands = actions.choices
    return actions


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has. They have no default, so that a subcommand's do not hide the parser's."""
    parser.add_argument(
        "--skills-dir", metavar="DIR", default=argparse.SUPPRESS, help="directories of skills; overrides SKILLS_DIR"
    )
    parser.add_argument(
        "--roots", metavar="LIST", default=argparse.SUPPRESS, help="places to search; overrides SKILLHUB_ROOTS"
    )
    parser.add_argument(
        "--cwd", metavar="DIR", default=argparse.SUPPRESS, help="working directory; overrides SKILLHUB_CWD"
    )
    parser.add_argument(
        "--db-path", metavar="PATH", default=argparse.SUPPRESS, help="index database; overrides DB_PATH"
    )
    parser.add_argument(
        "--log-level", metavar="LEVEL", default=argparse.SUPPRESS, help="minimum log level; overrides LOG_LEVEL"
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json, which every command that prints a result has."""
    parser.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")


def whole_number(written: str) -> int:
    """Parse an option's whole number; the command or the hub checks its range."""
    try:
        return int(written)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {written!r}") from None


def decode_argument(typed: str) -> str:
    """Return a command-line argument as UTF-8 text.

    Where the locale cannot decode it, Python passes the bytes as surrogates.
    """
    return os.fsencode(typed).decode("utf-8", "replace")


def setting_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the values of the options that set settings, by setting name."""
    typed = vars(args)
    return {
        name: "1" if typed[option] is True else str(typed[option])
        for option, name in _SETTING_OPTIONS.items()
        if typed.get(option) not in (None, False)
    }
