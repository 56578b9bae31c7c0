"""`skillhub pick`: choose a skill, look into it, switch it off and on (seed 000, picker)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, as_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, NO_SKILLS, one_line, print_json, say
from skillhub_mcp.cli.picker_rows import NO_MATCH, SCOPES, PickerRow, counted, narrowed, picker_rows
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings, read_settings


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "pick",
        help="choose a skill, and switch skills on and off",
        description="Choose a skill on the terminal: search as you type, look into it, switch it off and on. Prints "
        "what was chosen. Where the output is no terminal, or with --json, prints the skills instead.",
    )
    parser.add_argument("typed", nargs="*", metavar="WORD", help="what to search for at first")
    parser.add_argument("--scope", choices=SCOPES, default="all", help="whose skills at first (default: %(default)s)")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Open the picker, or print what it would show."""
    settings, _ = read_settings(os.environ, options)
    typed = as_text(" ".join(args.typed))
    with open_hub(options) as hub:
        rows = picker_rows(hub.listed())
        if not rows and not args.json:
            say(NO_SKILLS)
            return EXIT_OK
        if not args.json and sys.stdout.isatty() and sys.stdin.isatty():
            chosen = _picked(hub, settings, rows, typed, args.scope)
            if chosen is not None:
                say(chosen)
            return EXIT_OK
    shown = narrowed(rows, typed, args.scope)
    if args.json:
        print_json({"skills": [_facts(row) for row in shown], "count": len(shown), "total": len(rows)})
        return EXIT_OK
    for row in shown:
        say(f"{row.state:<7} {row.handle}  {row.source}, {row.scope}  {one_line(row.description, width=80)}")
    say(counted(shown, rows) if shown else NO_MATCH)
    return EXIT_OK


def _picked(hub: SkillHub, settings: Settings, rows: Sequence[PickerRow], typed: str, scope: Any) -> str | None:
    from skillhub_mcp.bootstrap import project_of
    from skillhub_mcp.cli.picker import Picker, PickerActions
    from skillhub_mcp.policy.files import change_choices
    from skillhub_mcp.skills.documents import read_document

    project = project_of(settings).root

    def look(row: PickerRow) -> str:
        head = f"{row.name}\n{row.directory}\n\n{row.description}\n\n"
        try:
            # Whoever switches skills off may look into them all the same: nothing is loaded by it.
            return head + read_document(hub.known(row.directory)).instructions
        except SkillHubError as error:
            return head + error.message

    def switch(row: PickerRow, here_only: bool) -> Sequence[PickerRow]:
        change_choices(
            settings.policy.choices,
            lambda choices: choices.switched(
                row.directory,
                also=(row.name,) if row.state != "on" else (),
                on=row.state != "on",
                project=project if here_only else None,
            ),
        )
        return picker_rows(hub.listed())

    return Picker(rows, PickerActions(look, switch), typed=typed, scope=scope).run()


def _facts(row: PickerRow) -> dict[str, str]:
    return {
        "name": row.name,
        "handle": row.handle,
        "description": row.description,
        "source": row.source,
        "scope": row.scope,
        "state": row.state,
        "path": row.directory,
    }
