"""`skillhub pick`: choose, preview, enable and disable skills on the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.commands.choices import namesakes, switched_by_path
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, one_line, print_absence, print_json, print_text, problems_json
from skillhub_mcp.cli.picker_rows import NO_MATCH, SCOPES, PickerRow, count_text, filter_rows, picker_rows
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings, read_settings


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "pick",
        group=Group.FIND,
        everyday=True,
        help="choose, enable and disable skills interactively",
        description="Search as you type, preview, enable and disable skills, and print the one that was chosen. "
        "Without a terminal, or with --json, list the skills instead.",
    )
    parser.add_argument("typed", nargs="*", metavar="WORD", help="initial search text")
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default="all",
        help="initial scope: repo, the project's; user, your own (default: %(default)s)",
    )
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Open the picker, or print what it would show."""
    settings, _ = read_settings(os.environ, options)
    typed = decode_argument(" ".join(args.typed))
    with open_hub(options) as hub:
        rows = picker_rows(hub.listed())
        if not rows:
            absence = hub.why_nothing(for_models=False)
            if args.json:
                print_json({"skills": [], "count": 0, "total": 0, "problems": problems_json(absence.causes)})
            else:
                print_absence(absence)
            return EXIT_FAILED if absence.mistake else EXIT_OK
        if not args.json and sys.stdout.isatty() and sys.stdin.isatty():
            chosen = _pick(hub, settings, rows, typed, args.scope)
            if chosen is not None:
                print_text(chosen)
            return EXIT_OK
    shown = filter_rows(rows, typed, args.scope)
    if args.json:
        print_json({"skills": [_row_json(row) for row in shown], "count": len(shown), "total": len(rows)})
        return EXIT_OK
    for row in shown:
        print_text(f"{row.state:<7} {row.handle}  {row.source}, {row.scope}  {one_line(row.description, width=80)}")
    print_text(count_text(shown, rows) if shown else NO_MATCH)
    return EXIT_OK


def _pick(hub: SkillHub, settings: Settings, rows: Sequence[PickerRow], typed: str, scope: Any) -> str | None:
    from skillhub_mcp.chosen_roots import project_of
    from skillhub_mcp.cli.picker import Picker, PickerActions
    from skillhub_mcp.policy.files import change_choices
    from skillhub_mcp.skills.documents import read_document

    project = project_of(settings).root

    def preview(row: PickerRow) -> str:
        head = f"{row.name}\n{row.directory}\n\n{row.description}\n\n"
        try:
            # A preview is allowed for disabled skills too: it does not load them.
            return head + read_document(hub.find(row.directory)).instructions
        except SkillHubError as error:
            return head + error.message

    def toggle(row: PickerRow, here_only: bool) -> Sequence[PickerRow]:
        skill = hub.find(row.directory)
        others = namesakes(hub, skill)
        where = project if here_only else None
        change_choices(
            settings.policy.choices,
            lambda choices: switched_by_path(choices, skill, others, on=row.state != "on", project=where),
        )
        return picker_rows(hub.listed())

    return Picker(rows, PickerActions(preview, toggle), typed=typed, scope=scope).run()


def _row_json(row: PickerRow) -> dict[str, str]:
    return {
        "name": row.name,
        "handle": row.handle,
        "description": row.description,
        "source": row.source,
        "scope": row.scope,
        "state": row.state,
        "path": row.directory,
    }
