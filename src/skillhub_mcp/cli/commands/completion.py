"""`skillhub completion`: the script by which a shell completes commands, options and the names of skills.

shtab makes the scripts from the parser. Skills change from day to day: the scripts ask `completion_words` for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from skillhub_mcp.cli.arguments import Parser
from skillhub_mcp.cli.completion_words import COMMAND
from skillhub_mcp.cli.output import EXIT_OK

EPILOG = """\
install it, and again after an update:
  bash  mkdir -p ~/.local/share/bash-completion/completions
        skillhub completion bash > ~/.local/share/bash-completion/completions/skillhub
        (without the package bash-completion: eval "$(skillhub completion bash)" in ~/.bashrc)
  zsh   mkdir -p ~/.zfunc
        skillhub completion zsh > ~/.zfunc/_skillhub
        and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)
  fish  mkdir -p ~/.config/fish/completions
        skillhub completion fish > ~/.config/fish/completions/skillhub.fish
then restart the shell"""

# The arguments that are names of skills, by command.
SKILLS: Mapping[str, Sequence[str]] = {
    "why": ("task", "name"),
    "show": ("name",),
    **dict.fromkeys(("enable", "disable", "allow", "deny", "remove", "update", "lock", "verify"), ("names",)),
}
_PATHS = {
    **dict.fromkeys(("DIR", "PLACE"), "DIRECTORY"),
    **dict.fromkeys(("FILE", "PATH", "SOURCE", "LOG", "QUERIES"), "FILE"),
}
_PREAMBLES = {
    "bash": f"""
_skillhub_skills() {{
  local word quoted
  while IFS= read -r word; do
    printf -v quoted '%q' "$word"
    [[ $quoted == "$1"* ]] && printf '%s\\n' "$quoted"
  done < <("${{COMP_WORDS[0]/#\\~/$HOME}}" {COMMAND} 2>/dev/null)
}}
""",
    "zsh": f"""
_skillhub_skills() {{
  local -a found
  found=(${{(f)"$(skillhub {COMMAND} 2>/dev/null)"}})
  compadd -a found
}}
""",
    "fish": "",
}
SHELLS = tuple(_PREAMBLES)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", nargs="?", choices=SHELLS, help="the shell that you type in")


def run(args: argparse.Namespace, _: Mapping[str, str]) -> int:
    """Print the script by which a shell completes commands, options and names of skills.
    Without a shell, print how to install it.
    """
    from skillhub_mcp.cli.main import make_parser

    print(EPILOG if args.shell is None else script(args.shell, make_parser()))
    return EXIT_OK


def script(shell: str, root: Parser) -> str:
    """Return the script for one of `SHELLS`. It changes `root`, which is of no other use afterwards."""
    import shtab

    fixed = fixed_words(tuple(root.subcommands))
    skills = {"bash": "_skillhub_skills", "zsh": "_skillhub_skills", "fish": f"(skillhub {COMMAND} 2>/dev/null)"}
    for command, action in _arguments(root, ""):
        words = fixed.get((command, action.dest)) or fixed.get(("", action.dest))
        if isinstance(action.choices, Mapping):
            # shtab skips what help does not show, and our help shows the commands elsewhere.
            action.help = ""
        elif action.dest in SKILLS.get(command, ()):
            action.help = "skill"
            action.complete = skills
        elif words is not None:
            action.choices = words
        elif action.metavar in _PATHS and action.help is not argparse.SUPPRESS:
            action.complete = getattr(shtab, _PATHS[str(action.metavar)])
    return str(shtab.complete(root, shell, preamble=_PREAMBLES[shell]))


def _arguments(parser: Parser, command: str) -> Iterator[tuple[str, Any]]:
    """Yield the arguments and options of each command. shtab reads `complete`, which argparse does not have."""
    for action in parser.arguments:
        yield command, action
    for name, subparser in parser.subcommands.items():
        yield from _arguments(subparser, f"{command} {name}".strip())


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
        ("", "SKILLHUB_ROOTS"): get_args(Places),
        ("config set", "name"): tuple(BY_NAME),
        ("help", "words"): commands,
        ("new", "from_template"): [example.name for example in examples()],
        **dict.fromkeys((("validate", "select"), ("validate", "ignore")), tuple(RULES)),
        **dict.fromkeys((("audit", "select"), ("audit", "ignore")), tuple(AUDIT_RULES)),
        **dict.fromkeys((("add", "accept"), ("update", "accept")), tuple(AUDIT_RULES)),
        **dict.fromkeys((("connect", "clients"), ("disconnect", "clients")), clients),
        ("connect", "env"): [setting.name for setting in SETTINGS],
        ("eval run", "baseline"): [name for name in BASELINES if " " not in name],
    }
