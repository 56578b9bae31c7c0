"""What may be typed? The parts that every command's parser shares, and how a misuse is worded."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from skillhub_mcp.errors import InvalidArgument

# argparse words its complaints for itself, a little differently in each Python; these three are put in our words.
_ABOUT_ONE = re.compile(r"argument (?P<argument>[^:]+): (?P<reason>.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '(?P<typed>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL)
_REQUIRED = re.compile(r"the following arguments are required: (?P<arguments>.*)")

# Options that set a setting: on the command line they beat the environment.
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
# They mean something only to a server, and one that is typed before a command would be lost in silence.
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
    """Raises InvalidArgument for a misuse instead of exiting, and guesses what a mistyped word meant.

    `verbs` holds the parsers of the commands, by name.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self.verbs: Mapping[str, Parser] = {}

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return what was typed. Raises InvalidArgument, and SystemExit once `--help` is printed."""
        args, unknown = self.parse_known_args(argv)
        verb = self.verbs.get(args.command)
        if verb is not None and verb.verbs:
            verb = verb.verbs[args.action]
        if unknown:
            (verb or self).refuse(unknown[0])
        if verb is not None:
            for option, typed in _SERVING_OPTIONS.items():
                if getattr(args, option) != self.get_default(option):
                    if typed in verb.format_usage():
                        verb.refuse(typed)
                    raise InvalidArgument(
                        typed, f"cannot be used with {args.command!r}", hint="leave out one of the two"
                    )
        return args

    def error(self, message: str) -> NoReturn:
        required = _REQUIRED.fullmatch(message)
        if required is not None:
            raise InvalidArgument(required["arguments"], "must be given", hint=self._help)
        about = _ABOUT_ONE.fullmatch(message)
        if about is None:
            raise InvalidArgument(self.prog, f"cannot be used so: {message}", hint=self._help)
        choice = _CHOICE.fullmatch(about["reason"])
        if choice is not None:
            choices = re.findall(r"[\w-]+", choice["choices"])
            near = difflib.get_close_matches(choice["typed"], choices, n=1)
            hint = f"did you mean {near[0]!r}?" if near else self._help
            raise InvalidArgument(
                about["argument"], f"{choice['typed']!r} is not one of {', '.join(choices)}", hint=hint
            )
        reason = "needs a value" if about["reason"].startswith("expected ") else about["reason"]
        raise InvalidArgument(about["argument"], reason, hint=self._help)

    @property
    def _help(self) -> str:
        return f"{self.prog} --help"

    def refuse(self, typed: str) -> NoReturn:
        """Raise InvalidArgument for a word or an option that this command does not take."""
        if not typed.startswith("-"):
            raise InvalidArgument(repr(typed), "is one word too many", hint=self._help)
        option = typed.partition("=")[0]
        known = re.findall(r"--[\w-]+", self.format_usage())
        if option in known:
            raise InvalidArgument(option, "belongs after the command", hint=f"{self.prog} {option}")
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else self._help
        raise InvalidArgument(option, f"is not an option of {self.prog!r}", hint=hint)


def add_actions(parser: Parser) -> Any:
    """Give a command actions of its own, one of which must be typed; return what takes their parsers."""
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", dest="action", required=True, parser_class=Parser
    )
    parser.verbs = actions.choices
    return actions


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command takes. Unset ones leave no trace, so a subcommand does not hide them."""
    parser.add_argument("--skills-dir", metavar="DIR", default=argparse.SUPPRESS, help="instead of SKILLS_DIR")
    parser.add_argument("--roots", metavar="LIST", default=argparse.SUPPRESS, help="instead of SKILLHUB_ROOTS")
    parser.add_argument("--cwd", metavar="DIR", default=argparse.SUPPRESS, help="instead of SKILLHUB_CWD")
    parser.add_argument("--db-path", metavar="PATH", default=argparse.SUPPRESS, help="instead of DB_PATH")
    parser.add_argument("--log-level", metavar="LEVEL", default=argparse.SUPPRESS, help="instead of LOG_LEVEL")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json, which every command that prints an answer takes."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON, and a failure too")


def whole_number(written: str) -> int:
    """Return an option's number; which ones make sense, the hub decides."""
    try:
        return int(written)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, not {written!r}") from None


def as_text(typed: str) -> str:
    """Return a typed word as text: where the locale lacks its letters, Python hands on its bytes in disguise."""
    return os.fsencode(typed).decode("utf-8", "replace")


def setting_options(args: argparse.Namespace) -> dict[str, str]:
    """Return what was typed for settings, by setting name."""
    typed = vars(args)
    return {
        name: "1" if typed[option] is True else str(typed[option])
        for option, name in _SETTING_OPTIONS.items()
        if typed.get(option) not in (None, False)
    }
