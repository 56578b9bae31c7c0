"""`skillhub agents`: which AGENTS.md apply, here and elsewhere in the project (seed 001)."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import add_actions, add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say, write_file
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import read_settings

if TYPE_CHECKING:
    from skillhub_mcp.agents_md.resolver import AgentsResolver
    from skillhub_mcp.agents_md.schema import AgentsState


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "agents",
        help="print which AGENTS.md apply",
        description="Which AGENTS.md apply: from the project's root to here, to another path, and since a saved state.",
    )
    actions = add_actions(parser)
    beginning = actions.add_parser("context", help="print those from the project's root to here, with their texts")
    beginning.set_defaults(run=_context)
    resolving = actions.add_parser("resolve", help="print the paths of those that apply to other files besides")
    resolving.add_argument("paths", nargs="+", metavar="PATH", help="a file or directory, which need not exist yet")
    resolving.set_defaults(run=_resolve)
    resuming = actions.add_parser("resume-diff", help="print what has changed since a state was saved")
    resuming.set_defaults(run=_resume_diff)
    for action in (beginning, resolving, resuming):
        needed = action is resuming
        action.add_argument(
            "--state",
            metavar="FILE",
            required=needed,
            help="what a session knows: kept there" if not needed else "what the session knew when it was saved",
        )
        add_json_option(action)
        add_setting_options(action)


def _context(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    resolver = _resolver(options, None)
    first = resolver.initial()
    _keep(resolver, args.state)
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
        say(first.text)
    for one in first.notes:
        note(f"{one.path} {one.message}")
    if not first.text:
        note(f"No AGENTS.md from {resolver.project.root} to {resolver.project.cwd}")
    return EXIT_OK


def _resolve(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.agents_md.reminders import paths_reminder

    saved = _state(args.state) if args.state and os.path.exists(args.state) else None
    resolver = _resolver(options, saved)
    if saved is None:
        resolver.initial()
    found = [file for path in args.paths for file in resolver.resolve(path).files]
    for path in args.paths:
        if not resolver.is_inside(path):
            note(f"{path} lies outside {resolver.project.root}: no AGENTS.md is looked for there")
    _keep(resolver, args.state)
    if args.json:
        print_json({"files": [file.model_dump() for file in found]})
    elif found:
        say(paths_reminder(found))
    return EXIT_OK


def _resume_diff(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    resolver = _resolver(options, None)
    saved = _state(args.state)
    reminder = resolver.resume_diff(saved)
    if args.json:
        print_json(
            {"changed": bool(reminder), "text": reminder, "files": [f.model_dump() for f in resolver.changed(saved)]}
        )
    elif reminder:
        say(reminder)
    return EXIT_OK


def _resolver(options: Mapping[str, str], saved: AgentsState | None) -> AgentsResolver:
    from skillhub_mcp.bootstrap import make_resolver

    settings, _ = read_settings(os.environ, options)
    return make_resolver(settings, state=saved)


def _state(path: str) -> AgentsState:
    from pydantic import ValidationError

    from skillhub_mcp.agents_md.schema import AgentsState

    try:
        with open(path, encoding="utf-8") as file:
            return AgentsState.model_validate_json(file.read())
    except OSError as error:
        raise InvalidArgument("--state", f"{path!r} cannot be read: {error.strerror}") from error
    except (ValidationError, ValueError) as error:
        raise InvalidArgument(
            "--state", f"{path!r} is not a saved state", hint="skillhub agents context --state FILE makes one"
        ) from error


def _keep(resolver: AgentsResolver, path: str | None) -> None:
    if path is not None:
        text = json.dumps(resolver.state.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
        write_file(path, text, option="--state")
