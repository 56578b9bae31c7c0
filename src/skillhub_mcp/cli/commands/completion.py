"""`skillhub completion`: the script by which a shell completes commands, options and the names of skills."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any

from skillhub_mcp.cli.arguments import Group, Parser
from skillhub_mcp.cli.output import EXIT_OK, print_text

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
then start the shell anew"""


def add_parser(subparsers: Any, root: Parser) -> None:
    """Add the command's parser; `root` is the whole program's."""
    parser = subparsers.add_parser(
        "completion",
        group=Group.HELP,
        help="let a shell complete commands and names of skills",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Print the script by which a shell completes commands, options and names of skills.\n"
        "Without a shell, print how to install it.",
        epilog=_INSTALLING,
    )
    parser.add_argument("shell", nargs="?", choices=tuple(_SCRIPTS), help="the shell that you type in")
    parser.set_defaults(run=partial(_run, root))


def _run(root: Parser, args: argparse.Namespace, _options: Mapping[str, str]) -> int:
    if args.shell is None:
        print_text(_INSTALLING)
        return EXIT_OK
    from skillhub_mcp.cli.completion import script

    print_text(script(args.shell, root))
    return EXIT_OK
