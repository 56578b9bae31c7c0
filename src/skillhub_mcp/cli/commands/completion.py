"""`skillhub completion`: the script by which a shell completes commands, options and the names of skills.

shtab makes the scripts from the parser. Skills and recorded roots change from day to day: the scripts ask
`completion_words` for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from skillhub_mcp.cli.arguments import Parser
from skillhub_mcp.cli.completion_words import COMMAND, ROOTS, SKILLS
from skillhub_mcp.cli.output import EXIT_OK

_SCRIPTS = {
    "bash": "~/.local/share/bash-completion/completions/skillhub",
    "zsh": "~/.zfunc/_skillhub",
    "fish": "~/.config/fish/completions/skillhub.fish",
}
_INSTALLING = f"""\
install it, and again after an update:
  bash  mkdir -p ~/.local/share/bash-completion/completions
        skillhub completion bash > {_SCRIPTS["bash"]}
        (without the package bash-completion: eval "$(skillhub completion bash)" in ~/.bashrc)
  zsh   mkdir -p ~/.zfunc
        skillhub completion zsh > {_SCRIPTS["zsh"]}
        and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)
  fish  mkdir -p ~/.config/fish/completions
        skillhub completion fish > {_SCRIPTS["fish"]}
then restart the shell"""
DESCRIPTION = (
    "Print the script by which a shell completes commands, options and names of skills.\nWithout a shell, print how to "
    "install it."
)
EPILOG = _INSTALLING

# By the command and the argument's name within it.
ASKED_FOR: Mapping[tuple[str, str], str] = {
    ("show", "name"): SKILLS,
    ("why", "task"): SKILLS,
    ("why", "name"): SKILLS,
    ("disable", "names"): SKILLS,
    ("allow", "names"): SKILLS,
    ("deny", "names"): SKILLS,
    ("context cost", "names"): SKILLS,
    ("enable", "names"): SKILLS,
    ("remove", "names"): SKILLS,
    ("update", "names"): SKILLS,
    ("lock", "names"): SKILLS,
    ("verify", "names"): SKILLS,
    ("roots remove", "places"): ROOTS,
}
_PATHS = {
    "DIR": "DIRECTORY",
    "PLACE": "DIRECTORY",
    "FILE": "FILE",
    "PATH": "FILE",
    "SOURCE": "FILE",
    "LOG": "FILE",
    "QUERIES": "FILE",
}
# A path within a skill, which the shell cannot know.
_NO_PATHS = {("show", "file")}

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


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", nargs="?", choices=tuple(_SCRIPTS), help="the shell that you type in")


def run(args: argparse.Namespace, _: Mapping[str, str]) -> int:
    """Print the script, or how to install it."""
    from skillhub_mcp.cli.main import make_parser

    print(_INSTALLING if args.shell is None else script(args.shell, make_parser()))
    return EXIT_OK


def script(shell: str, root: Parser) -> str:
    """Return the script for one of `SHELLS`. It changes `root`, which is of no other use afterwards."""
    import shtab

    fixed = fixed_words(tuple(root.subcommands))
    for command, action in _arguments(root, ""):
        _say_what_words_are(command, action, fixed)
    return str(shtab.complete(root, shell, preamble=_PREAMBLES[shell]))


def _arguments(parser: Parser, command: str) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments and options of each command."""
    for action in parser.arguments():
        yield command, action
    for name, subparser in parser.subcommands.items():
        yield from _arguments(subparser, f"{command} {name}".strip())


def _say_what_words_are(command: str, action: argparse.Action, fixed: Mapping[tuple[str, str], Sequence[str]]) -> None:
    import shtab

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
        _complete_by(action, getattr(shtab, _PATHS[str(action.metavar)]))


def fixed_words(commands: Sequence[str]) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the words that change only with the program, by the command and the argument's name."""
    from skillhub_mcp.auditing.rules import AUDIT_RULES
    from skillhub_mcp.authoring.files import examples
    from skillhub_mcp.clients.table import CLIENTS
    from skillhub_mcp.evaluation.baselines import BASELINES
    from skillhub_mcp.settings import BY_NAME, SETTINGS
    from skillhub_mcp.skills.roots import Places
    from skillhub_mcp.skills.rules import RULES

    clients = [client.name for client in CLIENTS]
    return {
        ("", "roots"): get_args(Places),
        ("config set", "name"): tuple(BY_NAME),
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
