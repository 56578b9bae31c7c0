"""What may be typed? The parts that every command's parser shares."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from typing import NoReturn

from skillhub_mcp.cli.output import EXIT_USAGE

_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<typed>[^']*)' \(choose from (?P<choices>.*)\)")

# Options that set a setting: on the command line they beat the environment.
_SETTING_OPTIONS = {
    "skills_dir": "SKILLS_DIR",
    "db_path": "DB_PATH",
    "log_level": "LOG_LEVEL",
    "skip_auto_reindex": "SKILLHUB_SKIP_AUTO_REINDEX",
    "enable_run": "SKILLHUB_ENABLE_RUN",
    "enable_run_over_http": "SKILLHUB_ENABLE_RUN_OVER_HTTP",
}


class Parser(argparse.ArgumentParser):
    """Reports a misuse as an error line and a hint, and guesses what a mistyped word meant."""

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help"
        invalid = _INVALID_CHOICE.search(message)
        if invalid is not None:
            choices = re.findall(r"[\w-]+", invalid["choices"])
            near = difflib.get_close_matches(invalid["typed"], choices, n=1)
            message = f"{invalid['typed']!r} is not one of {', '.join(choices)}"
            hint = f"did you mean {near[0]!r}?" if near else hint
        print(f"error: {message}\n\nhint: {hint}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command takes. Unset ones leave no trace, so a subcommand does not hide them."""
    parser.add_argument("--skills-dir", metavar="DIR", default=argparse.SUPPRESS, help="instead of SKILLS_DIR")
    parser.add_argument("--db-path", metavar="PATH", default=argparse.SUPPRESS, help="instead of DB_PATH")
    parser.add_argument("--log-level", metavar="LEVEL", default=argparse.SUPPRESS, help="instead of LOG_LEVEL")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json, which every command that prints an answer takes."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def setting_options(args: argparse.Namespace) -> dict[str, str]:
    """Return what was typed for settings, by setting name."""
    typed = vars(args)
    return {
        name: "1" if typed[option] is True else str(typed[option])
        for option, name in _SETTING_OPTIONS.items()
        if typed.get(option) not in (None, False)
    }
