"""`skillhub pick`: choose a skill on the terminal, and switch, edit and preview skills."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from skillhub_mcp.cli.arguments import decode_argument
from skillhub_mcp.cli.console import columns, one_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    note_empty_result,
    print_empty_result,
    print_json,
    problems_json,
)
from skillhub_mcp.cli.picker_rows import (
    NO_MATCH,
    NOT_SEARCHED,
    SCOPES,
    PickerScope,
    count_text,
    fitting_rows,
    nearest_rows,
    picker_rows,
    searched_for,
    warning_about,
)
from skillhub_mcp.hub import MAX_LIMIT
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of

DESCRIPTION = (
    "Search as you type, preview, edit, disable and enable skills, and print the name of the one that you take. The "
    "screen is the terminal, whatever stdin and stdout are, so a shell can use the output."
)
EPILOG = "exit codes: 0 a skill was taken, 130 none was"


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("typed", nargs="*", metavar="WORD", help="initial search text")
    parser.add_argument("--scope", choices=SCOPES, default="all", help="initial scope; repo is the project's")
    parser.add_argument("--list", action="store_true", help="print the skills that fit; needs no terminal")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Open the picker, or with --list or --json print what it would show. Raises TerminalUnavailable."""
    typed = decode_argument(" ".join(args.typed))
    if args.list or args.json:
        return _list(typed, args.scope, options, as_json=args.json)
    from skillhub_mcp.cli.picker import HubSkills, Picker, own_terminal

    with own_terminal():
        skills = HubSkills(settings_of(options))
        try:
            if not skills.read():
                note_empty_result(skills.hub.why_nothing(for_models=False))
                return EXIT_FAILED
            chosen = Picker(skills, typed=typed, scope=args.scope).run()
        finally:
            skills.hub.close()
    if chosen is None:
        return EXIT_INTERRUPTED
    if warning := warning_about(chosen):
        print_note(warning)
    print_text(in_line(chosen.handle))
    return EXIT_OK


def _list(typed: str, scope: PickerScope, options: Mapping[str, str], *, as_json: bool) -> int:
    with open_hub({**options, "SKILLHUB_USAGE": "off"}) as hub:
        rows = picker_rows(hub.listed())
        empty = None if rows else hub.why_nothing(for_models=False)
        found = searched_for(hub.search(typed, limit=MAX_LIMIT)) if rows and typed.strip() else NOT_SEARCHED
    fitting = fitting_rows(rows, typed, scope, found)
    shown = fitting or nearest_rows(rows, scope, found)
    if as_json:
        skills = [
            {
                "name": row.name,
                "handle": row.handle,
                "description": row.description,
                "source": row.source,
                "scope": row.scope,
                "state": row.state,
                "path": row.directory,
            }
            for row in shown
        ]
        problems = {} if empty is None else {"problems": problems_json(empty.causes)}
        counts = {"count": len(shown), "total": len(rows), "confident": bool(fitting)}
        print_json({"skills": skills, **counts, **problems})
    elif empty is not None:
        print_empty_result(empty)
    else:
        if shown and not fitting:
            print_text("No good match. Nearest:")
        for row in shown:
            head = f"{row.state:<7} {in_line(row.handle)}  {row.source}, {row.scope}  "
            print_text(head + one_line(row.description, width=max(columns() - len(head), 20)))
        print_text(count_text(shown, rows) if shown else NO_MATCH)
    return EXIT_FAILED if empty is not None and empty.mistake else EXIT_OK
