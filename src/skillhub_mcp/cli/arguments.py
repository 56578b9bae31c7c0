"""Parsing of the command line: the parser, the options that commands share, and the errors for wrong usage."""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NoReturn

from skillhub_mcp.cli.foreign_words import advice
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument

# argparse's messages differ between Python versions; these three kinds are replaced by messages of ours.
_ABOUT_ONE = re.compile(r"argument (?P<argument>[^:]+): (?P<reason>.*)", re.DOTALL)
_CHOICE, _CHOICES = "invalid choice: ", " (choose from "
_REQUIRED = re.compile(r"the following arguments are required: (?P<arguments>.*)")

PROGRAM = "skillhub"
COMMAND = "COMMAND"
ACTION = "ACTION"
SERVE = "serve"
_END_OF_OPTIONS = "--"

# Options that set a setting and override the environment.
_SETTING_OPTIONS = {
    "skills_dir": "SKILLS_DIR",
    "roots": "SKILLHUB_ROOTS",
    "cwd": "SKILLHUB_CWD",
    "db_path": "SKILLHUB_DB_PATH",
    "log_level": "SKILLHUB_LOG_LEVEL",
    "skip_auto_reindex": "SKILLHUB_SKIP_AUTO_REINDEX",
    "read_only": "SKILLHUB_READ_ONLY",
    "frozen": "SKILLHUB_FROZEN",
    "enable_run": "SKILLHUB_ENABLE_RUN",
    "enable_run_over_http": "--enable-run-over-http",
    "allow_anonymous": "--allow-anonymous",
    "workers": "--workers",
}
# Options for serving. Before a command they would be ignored silently, so they are refused there.
_SERVING_OPTIONS = {
    "transport": "--transport",
    "host": "--host",
    "port": "--port",
    "reindex": "--reindex",
    "reindex_json": "--json",
    "read_only": "--read-only",
    "frozen": "--frozen",
    "enable_run": "--enable-run",
    "enable_run_over_http": "--enable-run-over-http",
    "allow_anonymous": "--allow-anonymous",
    "workers": "--workers",
}
# What a command is told instead of the option, which is for serving.
_INSTEAD = {
    "--read-only": "set SKILLHUB_READ_ONLY=1 for a command over a publication",
    "--frozen": "set SKILLHUB_FROZEN=1 for a command",
}


class Group(str, Enum):
    """What a command is for. Help shows the groups in this order."""

    FIND = "Find"
    WRITE = "Write"
    CONTROL = "Control"
    SERVE = "Serve"
    MEASURE = "Measure"
    HELP = "Help"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InvalidArgument instead of exiting, with suggestions for mistyped words.

    `subcommands` holds the parsers of its commands by name; a parser that `runs_alone` needs none of them. A command's
    own parser has its `group`, and whether it is an `everyday` one, which has a line of its own in the help that fits a
    screen.
    """

    def __init__(self, *, group: Group | None = None, everyday: bool = False, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self.group = group
        self.everyday = everyday
        self.subcommands: Mapping[str, Parser] = {}
        self.runs_alone = False
        self._argv: Sequence[str] = ()

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the parsed arguments. Raises InvalidArgument, and SystemExit after printing `--help`."""
        self._argv = argv
        args, unknown = self.parse_known_args(argv)
        command = self.subcommands.get(args.command)
        if command is not None and command.subcommands:
            command = command.subcommands.get(args.action, command)
        if unknown:
            if unknown[0].startswith("-") and unknown[0] not in argv[: _end_of_options(argv)]:
                reason = f"is an unexpected argument: behind {_END_OF_OPTIONS} nothing is an option"
                raise InvalidArgument(repr(unknown[0]), reason, hint=f"write options before {_END_OF_OPTIONS}")
            (command or self).refuse(unknown[0])
        if command is not None and args.command != SERVE:
            for typed in self.serving_options(args):
                if typed in command.option_names():
                    command.refuse(typed)
                hint = _INSTEAD.get(typed, "remove one of the two")
                raise InvalidArgument(typed, f"cannot be used with {args.command!r}", hint=hint)
        return args

    def serving_options(self, args: argparse.Namespace) -> tuple[str, ...]:
        """Return the options for serving that `args` have, as they are typed."""
        return tuple(
            typed for option, typed in _SERVING_OPTIONS.items() if getattr(args, option) != self.get_default(option)
        )

    def arguments(self) -> tuple[argparse.Action, ...]:
        """Return the arguments and options, in order."""
        return tuple(self._actions)

    def option_names(self) -> tuple[str, ...]:
        """Return every long option, those that help leaves out included."""
        return tuple(name for name in self._option_string_actions if name.startswith("--"))

    def summaries(self) -> Mapping[str, str]:
        """Return what each of its commands does, as a phrase, by the command's name."""
        lines = (
            line
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - argparse names its kind of action nowhere else
            for line in action._choices_actions  # noqa: SLF001 - nor has it another way to a command's `help`
        )
        return {line.dest: line.help or "" for line in lines}

    def command(self, words: Sequence[str]) -> Parser:
        """Return the parser of the command that `words` name. Raises InvalidArgument."""
        found = self
        for number, word in enumerate(words):
            if word not in found.subcommands:
                found.refuse_command(word, words[number + 1 :])
            found = found.subcommands[word]
        return found

    def print_help(self, file: Any = None) -> None:
        # argparse ignores that help cannot be written.
        (sys.stdout if file is None else file).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        required = _REQUIRED.fullmatch(message)
        if required is not None and required["arguments"] == ACTION:
            raise InvalidArgument(ACTION, "is required", hint=self._actions_hint)
        if required is not None:
            raise InvalidArgument(required["arguments"], "is required", hint=self._help)
        about = _ABOUT_ONE.fullmatch(message)
        if about is None:
            raise InvalidArgument(self.prog, f"cannot be run this way: {message}", hint=self._help)
        written, _, listed = about["reason"].removeprefix(_CHOICE).rpartition(_CHOICES)
        if about["reason"].startswith(_CHOICE) and written:
            typed = str(ast.literal_eval(written))
            if about["argument"] == COMMAND:
                self._refuse_command_of_line(typed)
            if about["argument"] == ACTION:
                self.refuse_command(typed, ())
            choices = re.findall(r"[\w-]+", listed)
            near = difflib.get_close_matches(typed, choices, n=1)
            hint = f"did you mean {near[0]!r}?" if near else self._help
            raise InvalidArgument(about["argument"], f"{typed!r} is not one of {', '.join(choices)}", hint=hint)
        reason = "requires a value" if about["reason"].startswith("expected ") else about["reason"]
        raise InvalidArgument(about["argument"], reason, hint=self._help)

    @property
    def _help(self) -> str:
        return f"{self.prog} --help"

    def _refuse_command_of_line(self, typed: str) -> NoReturn:
        place = self._argv.index(typed)
        known = self.option_names()
        for word in self._argv[:place]:
            # What stands for a command may be the value of an option that was mistyped.
            if word.startswith("--") and word.partition("=")[0] not in known:
                self.refuse(word)
        self.refuse_command(typed, self._argv[place + 1 :])

    def refuse_command(self, typed: str, rest: Sequence[str]) -> NoReturn:
        """Raise InvalidArgument for a word that is no command, with the command that does what it asks for.

        `rest` is what was typed after it.
        """
        named = repr(decode_argument(typed))
        if not self.subcommands:
            raise InvalidArgument(named, "is an unexpected argument", hint=self._help)
        told = advice(typed, rest) if typed not in self.subcommands and self.prog == PROGRAM else None
        if told is not None:
            raise InvalidArgument(named, told.reason, hint=told.hint)
        kind, rest_of_them = (
            ("a command", f"{PROGRAM} help lists the commands")
            if self.prog == PROGRAM
            else ("an action", self._actions_hint)
        )
        near = difflib.get_close_matches(typed, list(self.subcommands), n=1)
        hint = f"did you mean {near[0]!r}?" if near else rest_of_them
        raise InvalidArgument(named, f"is not {kind} of {self.prog!r}", hint=hint)

    @property
    def _actions_hint(self) -> str:
        actions = f"{self.prog} {'|'.join(self.subcommands)}"
        return f"{self.prog}, or {actions}" if self.runs_alone else actions

    def refuse(self, typed: str) -> NoReturn:
        """Raise InvalidArgument for an argument or option that this command does not accept."""
        if not typed.startswith("-"):
            raise InvalidArgument(repr(typed), "is an unexpected argument", hint=self._help)
        option = typed.partition("=")[0]
        known = self.option_names()
        if option in known:
            raise InvalidArgument(option, "must follow the command", hint=f"{self.prog} {option}")
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else self._help
        raise InvalidArgument(option, f"is not an option of {self.prog!r}", hint=hint)


def _end_of_options(argv: Sequence[str]) -> int:
    return argv.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in argv else len(argv)


def add_actions(parser: Parser, *, required: bool = True) -> Any:
    """Add actions to a command, of which one is `required`, and return the object that adds their parsers."""
    actions = parser.add_subparsers(
        title="actions", metavar=ACTION, dest="action", required=required, parser_class=Parser
    )
    parser.subcommands = actions.choices
    parser.runs_alone = not required
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
        "--db-path", metavar="PATH", default=argparse.SUPPRESS, help="index database; overrides SKILLHUB_DB_PATH"
    )
    parser.add_argument(
        "--log-level",
        metavar="LEVEL",
        default=argparse.SUPPRESS,
        help="minimum log level; overrides SKILLHUB_LOG_LEVEL",
    )


def add_json_option(parser: argparse._ActionsContainer) -> None:
    """Add --json, which every command that prints a result has."""
    parser.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")


def add_rule_options(parser: argparse.ArgumentParser, *, example: str) -> None:
    """Add --select and --ignore, as `validate` and `audit` take rules; `example` begins the names of several rules."""
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="RULES",
        help=f"only these rules; '{example}' is every rule {example}-…",
    )
    parser.add_argument("--ignore", action="append", default=[], metavar="RULES", help="all but these rules")


def add_findings_form(parser: argparse.ArgumentParser) -> None:
    """Add --sarif and --json, of which findings take one form."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0, for code hosts")
    add_json_option(form)


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


def skill_argument(typed: str) -> str:
    """Return how a skill was named on the command line; where that is a path, as an absolute one.

    A word that begins with `.`, `..` or `~` or has a separator is a path if something lies there: a skill may have such
    a name, too. Raises InvalidArgument for nothing.
    """
    if not typed.strip():
        raise InvalidArgument("NAME", "is empty", hint=f"`{PROGRAM} list` has the names")
    path = path_argument(typed)
    return path if path is not None and os.path.lexists(path) else decode_argument(typed)


def path_argument(typed: str) -> str | None:
    """Return the absolute path that was typed for a skill or its SKILL.md, as file calls take it; None for a name."""
    parts = typed.replace(os.sep, "/").split("/")
    is_marked = parts[0] in (os.curdir, os.pardir) or (parts[0].startswith("~") and len(parts) > 1)
    if not is_marked and (len(parts) == 1 or not os.path.lexists(typed)):
        return None
    try:
        return os.path.abspath(expand_home(typed))
    except OSError:
        # The working directory was removed: nothing is in it.
        return None


def setting_options(args: argparse.Namespace) -> dict[str, str]:
    """Return the values of the options that set settings, by setting name."""
    typed = vars(args)
    return {
        name: "1" if typed[option] is True else str(typed[option])
        for option, name in _SETTING_OPTIONS.items()
        if typed.get(option) not in (None, False)
    }
