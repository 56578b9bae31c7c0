"""Parsing of the command line: the parser, the options that commands share, and usage errors with suggestions."""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from skillhub_mcp.cli.renames import OPTION_SUCCESSORS, SUCCESSORS
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument

# argparse's messages differ between Python versions; these three kinds are replaced.
_ABOUT_ONE = re.compile(r"argument (?P<argument>[^:]+): (?P<reason>.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: (?P<typed>.+) \(choose from (?P<choices>.*)\)", re.DOTALL)
_REQUIRED = re.compile(r"the following arguments are required: (?P<arguments>.*)")

PROGRAM = "skillhub"
COMMAND = "COMMAND"
ACTION = "ACTION"
SERVE = "serve"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises InvalidArgument instead of exiting, with suggestions for mistyped words.

    `arguments` are those that were added, but for mutually exclusive ones.
    """

    def __init__(self, **options: Any) -> None:
        self.arguments: list[argparse.Action] = []
        self._chooser: Any = None
        super().__init__(**options, allow_abbrev=False)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        self.arguments.append(super().add_argument(*names, **options))
        return self.arguments[-1]

    def add_commands(self, **options: Any) -> Any:
        """Let the parser have commands, and return the object that adds their parsers."""
        self._chooser = self.add_subparsers(parser_class=Parser, **options)
        self.arguments.append(self._chooser)
        return self._chooser

    @property
    def subcommands(self) -> Mapping[str, Parser]:
        """The parsers of the commands by name."""
        return {} if self._chooser is None else self._chooser.choices

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the parsed arguments. Raises InvalidArgument, and SystemExit after printing `--help`."""
        args, unknown = self.parse_known_args(argv)
        command = self.subcommands.get(args.command)
        if command is not None and command.subcommands:
            command = command.subcommands.get(getattr(args, "action", None) or "", command)
        if unknown:
            (command or self).refuse(unknown[0])
        return args

    def option_names(self) -> set[str]:
        """Return every long option, including those that help leaves out."""
        names = {name for action in self.arguments for name in action.option_strings if name.startswith("--")}
        return names.union(re.findall(r"--[a-z][a-z-]*", self.format_usage()))

    def command(self, words: Sequence[str]) -> Parser:
        """Return the parser of the command that `words` name. Raises InvalidArgument."""
        found = self
        for word in words:
            if word not in found.subcommands:
                found.refuse_command(word)
            found = found.subcommands[word]
        return found

    def error(self, message: str) -> NoReturn:
        required = _REQUIRED.fullmatch(message)
        if required is not None:
            hint = self._actions_hint if required["arguments"] == ACTION else self._help
            raise InvalidArgument(required["arguments"], "is required", hint=hint)
        about = _ABOUT_ONE.fullmatch(message)
        if about is None:
            raise InvalidArgument(self.prog, f"cannot be run this way: {message}", hint=self._help)
        argument, reason = about["argument"], about["reason"]
        choice = _CHOICE.fullmatch(reason)
        if choice is None:
            reason = "requires a value" if reason.startswith("expected ") else reason
            raise InvalidArgument(argument, reason, hint=self._help)
        typed = str(ast.literal_eval(choice["typed"]))
        if argument in (COMMAND, ACTION):
            self.refuse_command(typed)
        choices = re.findall(r"[\w-]+", choice["choices"])
        reason = f"{typed!r} is not one of {', '.join(choices)}"
        raise InvalidArgument(argument, reason, hint=did_you_mean(typed, choices, self._help))

    @property
    def _help(self) -> str:
        return f"{self.prog} --help"

    @property
    def _actions_hint(self) -> str:
        actions = "|".join(self.subcommands)
        return f"{self.prog} {actions}" if self._chooser.required else f"{self.prog} [{actions}]"

    def refuse_command(self, typed: str) -> NoReturn:
        """Raise InvalidArgument for an unknown command, with the one that does what it asks for."""
        named = repr(decode_argument(typed))
        if not self.subcommands:
            raise InvalidArgument(named, "is an unexpected argument", hint=self._help)
        near = did_you_mean(typed, self.subcommands)
        if self.prog != PROGRAM:
            raise InvalidArgument(named, f"is not an action of {self.prog!r}", hint=near or self._actions_hint)
        successor = SUCCESSORS.get(typed.lower())
        hint = f"{PROGRAM} {successor}" if successor else near or f"{PROGRAM} help lists the commands"
        raise InvalidArgument(named, f"is not a command of {self.prog!r}", hint=hint)

    def refuse(self, typed: str) -> NoReturn:
        """Raise InvalidArgument for an argument or option that this command does not accept."""
        if not typed.startswith("-"):
            raise InvalidArgument(repr(typed), "is an unexpected argument", hint=self._help)
        option = typed.partition("=")[0]
        known = self.option_names()
        if option in known:
            raise InvalidArgument(option, "must follow the command", hint=f"{self.prog} {option}")
        hint = OPTION_SUCCESSORS.get(option) or did_you_mean(option, known, self._help)
        raise InvalidArgument(option, f"is not an option of {self.prog!r}", hint=hint)


def did_you_mean(typed: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the nearest of the `known` words, or `otherwise`."""
    near = difflib.get_close_matches(typed, sorted(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


Run = Callable[[argparse.Namespace, Mapping[str, str]], int]


def add_actions(parser: Parser, *, required: bool = False) -> Any:
    """Add actions to a command, of which one may be `required`, and return the object that adds their parsers."""
    return parser.add_commands(title="actions", metavar=ACTION, dest="action", required=required)


def add_action(actions: Any, name: str, run: Run, summary: str, *, writes: bool = False) -> Parser:
    """Add one action with the options that every command has."""
    parser: Parser = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    add_shared_options(parser, writes=writes)
    parser.set_defaults(run=run)
    return parser


def add_shared_options(parser: argparse.ArgumentParser, *, writes: bool = False) -> None:
    """Add the options of every command; a command that `writes` can be tried first and run without a question."""
    if writes:
        parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print the result, or the error, as JSON")
    add_setting_options(parser)


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that override settings. They have no default, so that a command's do not hide the parser's."""
    for name, metavar, setting, what in (
        ("--skills-dir", "DIR", "SKILLS_DIR", "directories of skills"),
        ("--roots", "LIST", "SKILLHUB_ROOTS", "places to search"),
        ("--cwd", "DIR", "SKILLHUB_CWD", "working directory"),
    ):
        reported = f"{what}; overrides {setting}"
        parser.add_argument(name, metavar=metavar, dest=setting, default=argparse.SUPPRESS, help=reported)


def whole_number(written: str) -> int:
    """Parse an option's whole number of at least 1."""
    if not (written.isdecimal() and int(written) > 0):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {written!r}")
    return int(written)


def decode_argument(typed: str) -> str:
    """Return a command-line argument as UTF-8 text; Python passes bytes that the locale cannot decode as surrogates."""
    return os.fsencode(typed).decode("utf-8", "replace")


def new_skill_name(argument: str, typed: str, command: str) -> str:
    """Return the name for a new skill. Raises InvalidArgument; `command` begins the hint."""
    from skillhub_mcp.library.unpack import entry_problem
    from skillhub_mcp.skills.names import is_specified_name, safe_alias

    name = decode_argument(typed)
    if not is_specified_name(name) or entry_problem(name) is not None:
        alias = safe_alias(name) or "my-skill"
        alias = alias if entry_problem(alias) is None else f"{alias}-skill"
        reason = "must be 1 to 64 lowercase letters, digits and single hyphens, and no device name of Windows"
        raise InvalidArgument(argument, f"{name!r} {reason}", hint=f"{command} {alias}")
    return name


def skill_argument(typed: str) -> str:
    """Return the name of a skill as typed, or an absolute path if something exists there. Raises InvalidArgument."""
    if not typed.strip():
        raise InvalidArgument("NAME", "is empty", hint=f"`{PROGRAM} list` has the names")
    path = path_argument(typed)
    return path if path is not None and os.path.lexists(path) else decode_argument(typed)


def path_argument(typed: str) -> str | None:
    """Return the absolute path that was typed for a skill or its SKILL.md; None for a name."""
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
    """Return the values of the options that override settings. Their destinations are the names of the settings."""
    typed = {name: value for name, value in vars(args).items() if name.isupper() or name.startswith("--")}
    return {name: "1" if value is True else str(value) for name, value in typed.items()}
