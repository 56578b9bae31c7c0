"""`skillhub agents`: the AGENTS.md files that apply in the working directory and to other paths of the project."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import Group, add_actions, add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text, write_file
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "agents",
        group=Group.FIND,
        help="print the AGENTS.md files that apply",
        description="Print the AGENTS.md files that apply in the working directory or to other paths, or those that "
        "changed since a state was saved.",
    )
    actions = add_actions(parser)
    context = actions.add_parser(
        "context", help="print the files from the project's root to the working directory, with contents"
    )
    context.set_defaults(run=_context)
    resolve = actions.add_parser("resolve", help="print the paths of the additional files that apply to other paths")
    resolve.add_argument("paths", nargs="+", metavar="PATH", help="file or directory; need not exist yet")
    resolve.set_defaults(run=_resolve)
    resume_diff = actions.add_parser("resume-diff", help="print what changed since a state was saved")
    resume_diff.set_defaults(run=_resume_diff)
    for action in (context, resolve, resume_diff):
        needed = action is resume_diff
        action.add_argument(
            "--state",
            metavar="FILE",
            required=needed,
            help="file of the session's state, updated" if not needed else "saved state to compare with, updated",
        )
        add_json_option(action)
        add_setting_options(action)


def _context(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    if args.state and os.path.isfile(args.state) and os.path.getsize(args.state):
        # It begins anew, but only a state is replaced. An empty file, as mktemp makes it, has nothing to lose.
        _read_state(args.state)
    resolver = _resolver(options, None)
    first = resolver.initial()
    _save_state(resolver, args.state)
    if args.json:
        print_json(
            {
                "text": first.text,
                "files": [file.model_dump() for file in first.files],
                "notes": [{"path": one.path, "message": one.message} for one in first.notes],
                "state": resolver.state.model_dump(mode="json"),
            }
        )
        return EXIT_OK
    if first.text:
        print_text(first.text)
    for one in first.notes:
        print_note(in_line(f"{one.path} {one.message}"))
    if not resolver.enabled:
        print_note('AGENTS.md files are switched off: "enabled" is false in SKILLHUB_AGENTS_CONFIG')
    elif not first.text:
        print_note(in_line(f"No AGENTS.md from {resolver.project.root} to {resolver.project.cwd}"))
    return EXIT_OK


def _resolve(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.agents_md.reminders import paths_reminder

    saved = _read_state(args.state) if args.state and os.path.exists(args.state) else None
    resolver = _resolver(options, saved)
    if saved is None:
        resolver.initial()
    found = [file for path in args.paths for file in resolver.resolve(path).files]
    for path in args.paths:
        if not resolver.is_inside(path):
            print_note(
                f"{in_line(path)} is outside {in_line(resolver.project.root)} and was not searched for AGENTS.md"
            )
    _save_state(resolver, args.state)
    if args.json:
        print_json({"files": [file.model_dump() for file in found]})
    elif found:
        print_text(paths_reminder(found))
    return EXIT_OK


def _resume_diff(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.agents_md.reminders import resume_reminder

    resolver = _resolver(options, None)
    saved = _read_state(args.state)
    changed = resolver.take_up(saved)
    reminder = resume_reminder(saved, resolver.state, changed)
    _save_state(resolver, args.state)
    if args.json:
        print_json({"changed": bool(reminder), "text": reminder, "files": [file.model_dump() for file in changed]})
    elif reminder:
        print_text(reminder)
    return EXIT_OK


def _resolver(options: Mapping[str, str], saved: AgentsState | None) -> AgentsResolver:
    from skillhub_mcp.bootstrap.server import make_resolver
    from skillhub_mcp.chosen_roots import project_of

    settings = settings_of(options)
    project_of(settings)  # refuses a directory that is not there
    return make_resolver(settings, state=saved)


def _read_state(path: str) -> AgentsState:
    from pydantic import ValidationError

    from skillhub_mcp.agents_md.schema import AgentsState

    try:
        with open(path, encoding="utf-8") as file:
            return AgentsState.model_validate_json(file.read())
    except OSError as error:
        raise InvalidArgument("--state", f"{path!r} cannot be read: {error.strerror}") from error
    except (ValidationError, ValueError) as error:
        raise InvalidArgument(
            "--state",
            f"{path!r} is not a saved state",
            hint="skillhub agents context --state FILE makes one, where FILE is not there yet",
        ) from error


def _save_state(resolver: AgentsResolver, path: str | None) -> None:
    if path is not None:
        text = json.dumps(resolver.state.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
        write_file(path, text.encode(), argument="--state")
