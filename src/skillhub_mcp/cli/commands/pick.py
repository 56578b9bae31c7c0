"""`skillhub pick`: search as one types, preview, edit, switch on and off, and take a skill, on the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    note_empty_result,
    one_line,
    print_empty_result,
    print_json,
    print_note,
    print_text,
    problems_json,
)
from skillhub_mcp.cli.pager import add_pager_option, paging
from skillhub_mcp.cli.picker_rows import (
    NO_MATCH,
    NOT_SEARCHED,
    SCOPES,
    PickerRow,
    PickerScope,
    count_text,
    fitting_rows,
    nearest_rows,
    picker_rows,
    searched_for,
    warning_about,
)
from skillhub_mcp.cli.screen import room_beside
from skillhub_mcp.hub import MAX_LIMIT
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings, settings_of


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "pick",
        group=Group.FIND,
        everyday=True,
        help="choose a skill interactively, or switch it off and on",
        description="Search as you type, preview, edit, disable and enable skills, and print the name of the one that "
        "was taken. The screen is the terminal, whatever stdin and stdout are, so the output can be used by a shell.",
        epilog="exit codes: 0 a skill was taken, 130 none was",
    )
    parser.add_argument("typed", nargs="*", metavar="WORD", help="initial search text")
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default="all",
        help="initial scope: repo, the project's; user, your own (default: %(default)s)",
    )
    parser.add_argument("--list", action="store_true", help="print the skills that fit, a line each; needs no terminal")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Open the picker, or with --list or --json print what it would show. Raises TerminalUnavailable."""
    typed = decode_argument(" ".join(args.typed))
    if args.list or args.json:
        with paging(wanted=not args.no_pager):
            return _list(typed, args.scope, options, as_json=args.json)
    settings = settings_of(options)
    return _pick(settings, typed, args.scope)


def _pick(settings: Settings, typed: str, scope: PickerScope) -> int:
    from skillhub_mcp.cli.own_terminal import own_terminal

    with own_terminal():
        from skillhub_mcp.cli.picker import Picker
        from skillhub_mcp.cli.picker_skills import HubSkills

        skills = HubSkills(settings)
        try:
            app = Picker(skills, typed=typed, scope=scope)
            chosen = app.run()
        finally:
            skills.hub.close()
    if app.failure is not None:
        raise app.failure
    if app.has_none:
        note_empty_result(skills.hub.why_nothing(for_models=False))
        return EXIT_FAILED
    if chosen is None:
        return EXIT_INTERRUPTED
    warning = warning_about(chosen)
    if warning:
        print_note(warning)
    print_text(in_line(chosen.handle))
    return EXIT_OK


def _list(typed: str, scope: PickerScope, options: Mapping[str, str], *, as_json: bool) -> int:
    with open_hub({**options, "SKILLHUB_USAGE_LOG": ""}) as hub:
        rows = picker_rows(hub.listed())
        if not rows:
            absence = hub.why_nothing(for_models=False)
            if as_json:
                print_json(
                    {
                        "skills": [],
                        "count": 0,
                        "total": 0,
                        "confident": False,
                        "problems": problems_json(absence.causes),
                    }
                )
            else:
                print_empty_result(absence)
            return EXIT_FAILED if absence.mistake else EXIT_OK
        found = searched_for(hub.search(typed, limit=MAX_LIMIT)) if typed.strip() else NOT_SEARCHED
    fitting = fitting_rows(rows, typed, scope, found)
    shown = fitting or nearest_rows(rows, scope, found)
    if as_json:
        counts = {"count": len(shown), "total": len(rows), "confident": bool(fitting)}
        print_json({"skills": [_row_json(row) for row in shown], **counts})
        return EXIT_OK
    if shown and not fitting:
        print_text("No good match. Nearest:")
    _print_lines(shown, rows)
    return EXIT_OK


def _print_lines(shown: Sequence[PickerRow], rows: Sequence[PickerRow]) -> None:
    for row in shown:
        head = f"{row.state:<7} {in_line(row.handle)}  {row.source}, {row.scope}  "
        print_text(head + one_line(row.description, width=room_beside(head)))
    print_text(count_text(shown, rows) if shown else NO_MATCH)


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
