"""The scripts by which shells complete the command line: shtab makes them of the parser, and this says what words are.

Commands, options and fixed choices are in the script; the names of skills and of recorded roots are asked for while
typing, of `completion_words`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import shtab

from skillhub_mcp.auditing.rules import AUDIT_RULES
from skillhub_mcp.authoring.files import examples
from skillhub_mcp.cli.arguments import Parser
from skillhub_mcp.cli.completion_words import COMMAND, ROOTS, SKILLS
from skillhub_mcp.clients.table import CLIENTS
from skillhub_mcp.evaluation.baselines import BASELINES
from skillhub_mcp.settings import SETTINGS
from skillhub_mcp.skills.roots import Places
from skillhub_mcp.skills.rules import RULES

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

# By the command and the argument's name within it.
ASKED_FOR: Mapping[tuple[str, str], str] = {
    ("show", "name"): SKILLS,
    ("read", "name"): SKILLS,
    ("why", "task"): SKILLS,
    ("why", "name"): SKILLS,
    ("inspect", "names"): SKILLS,
    ("disable", "names"): SKILLS,
    ("enable", "names"): SKILLS,
    ("remove", "names"): SKILLS,
    ("outdated", "names"): SKILLS,
    ("update", "names"): SKILLS,
    ("lock", "names"): SKILLS,
    ("verify", "names"): SKILLS,
    ("permissions allow", "name"): SKILLS,
    ("permissions deny", "name"): SKILLS,
    ("permissions forget", "name"): SKILLS,
    ("roots remove", "places"): ROOTS,
}
_PATHS = {
    "DIR": shtab.DIRECTORY,
    "DIR|builtin|claude": shtab.DIRECTORY,
    "FILE": shtab.FILE,
    "PATH": shtab.FILE,
    "SOURCE": shtab.FILE,
    "LOG": shtab.FILE,
    "QUERIES": shtab.FILE,
}
# A path within a skill, which the shell cannot know.
_NO_PATHS = {("read", "file")}

_PREAMBLES = {
    "bash": f"""
_skillhub_words() {{
  local word quoted
  while IFS= read -r word; do
    printf -v quoted '%q' "$word"
    [[ $quoted == "$2"* ]] && printf '%s\\n' "$quoted"
  done < <("${{COMP_WORDS[0]/#\\~/$HOME}}" {COMMAND} "$1" "${{COMP_WORDS[@]:1:COMP_CWORD-1}}" 2>/dev/null)
}}
_skillhub_{SKILLS}() {{ _skillhub_words {SKILLS} "$1"; }}
_skillhub_{ROOTS}() {{ _skillhub_words {ROOTS} "$1"; }}
""",
    "zsh": f"""
_skillhub_words() {{
  local -a found
  found=(${{(f)"$(skillhub {COMMAND} $1 "${{(@Q)${{(z)LBUFFER}}}}" 2>/dev/null)"}})
  compadd -a found
}}
_skillhub_{SKILLS}() {{ _skillhub_words {SKILLS} }}
_skillhub_{ROOTS}() {{ _skillhub_words {ROOTS} }}
""",
    "fish": "",
}
SHELLS = tuple(_PREAMBLES)


def script(shell: str, root: Parser) -> str:
    """Return the script for one of `SHELLS`. It changes `root`, which is of no other use afterwards."""
    fixed = fixed_words(tuple(root.subcommands))
    for command, action in _arguments(root, ""):
        _say_what_words_are(command, action, fixed)
    _describe_in_a_phrase(root)
    return str(shtab.complete(root, shell, preamble=_PREAMBLES[shell]))


def _arguments(parser: Parser, command: str) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments and options of each command."""
    for action in parser.arguments():
        yield command, action
    for name, subparser in parser.subcommands.items():
        yield from _arguments(subparser, f"{command} {name}".strip())


def _describe_in_a_phrase(parser: Parser) -> None:
    """Replace the descriptions of commands, which shells list beside the names, by what help lists there."""
    summaries = parser.summaries()
    for name, subparser in parser.subcommands.items():
        subparser.description = summaries[name]
        _describe_in_a_phrase(subparser)


def _say_what_words_are(command: str, action: argparse.Action, fixed: Mapping[tuple[str, str], Sequence[str]]) -> None:
    place = (command, action.dest)
    words = fixed.get(place) or fixed.get(("", action.dest))
    if isinstance(action.choices, Mapping):
        # shtab skips what help does not show, and our help shows the commands elsewhere.
        action.help = ""
    elif place in ASKED_FOR:
        action.help = ASKED_FOR[place].removesuffix("s")
        _complete_by(action, _asked_for(ASKED_FOR[place]))
    elif words is not None:
        action.choices = words
    elif action.metavar in _PATHS and place not in _NO_PATHS and action.help is not argparse.SUPPRESS:
        _complete_by(action, _PATHS[str(action.metavar)])


def fixed_words(commands: Sequence[str]) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the words that change only with the program, by the command and the argument's name."""
    clients = [client.name for client in CLIENTS]
    return {
        ("", "roots"): get_args(Places),
        ("", "log_level"): _LEVELS,
        ("help", "words"): commands,
        ("new", "from_template"): [example.name for example in examples()],
        ("validate", "select"): tuple(RULES),
        ("validate", "ignore"): tuple(RULES),
        ("audit", "select"): tuple(AUDIT_RULES),
        ("audit", "ignore"): tuple(AUDIT_RULES),
        ("add", "accept"): tuple(AUDIT_RULES),
        ("update", "accept"): tuple(AUDIT_RULES),
        ("connect", "clients"): clients,
        ("connect", "env"): [setting.name for setting in SETTINGS],
        ("disconnect", "clients"): clients,
        ("eval run", "baseline"): [name for name in BASELINES if " " not in name],
    }


def _asked_for(kind: str) -> Mapping[str, str]:
    asked = f"(skillhub {COMMAND} {kind} (commandline -opc) 2>/dev/null)"
    return {"bash": f"_skillhub_{kind}", "zsh": f"_skillhub_{kind}", "fish": asked}


def _complete_by(action: Any, how: Mapping[str, Any]) -> None:
    """Tell shtab how to complete a value: it looks for an attribute that argparse does not have."""
    action.complete = how
