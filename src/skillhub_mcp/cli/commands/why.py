"""`skillhub why`: why a skill is served or not, and why a search does not put it first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.bootstrap.policy import rule_files
from skillhub_mcp.chosen_roots import choices_path, project_of
from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument, skill_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.environment import expand_home
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.model import skill_directory
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.why import AskedPath, Cause, Deciding
    from skillhub_mcp.skills.discovery_report import UnsearchedPlace
    from skillhub_mcp.skills.snapshot import Snapshot


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "why",
        group=Group.FIND,
        help="say why a skill is served or not, or not found first",
        description="Say what became of a skill: from where it is served, or what shadows, filters, switches off, "
        "denies or refuses it, with file and line. With a task, say where a search for it puts the skill, and what the "
        "first hit has that it has not. Exits with 1 if nothing has that name.",
    )
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task in quotes, as for search")
    parser.add_argument("name", metavar="NAME", help="name, alias, name@source, folder or path of a skill")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the explanation. Raises PolicyUnreadable, and IndexUnavailable where a search is asked about."""
    # Imported here because the server, which explains nothing, imports this package too.
    from skillhub_mcp.cli.explanations import explanation_json, explanation_text
    from skillhub_mcp.disclosure.why import Verdict, explain

    settings = settings_of(options)
    name = skill_argument(args.name)
    standing = None
    with open_hub(options) as hub:
        snapshot, policy = hub.snapshot_and_policy()
        path = None if Names(snapshot, policy).find(name) is not None else _asked_path(name)
        explanation = explain(name, snapshot, policy, _deciding(settings), path=path)
        if not explanation.accounts and path is None and (path := _folder_named(name, snapshot)) is not None:
            explanation = explain(name, snapshot, policy, _deciding(settings), path=path)
        if not explanation.accounts:
            elsewhere = _elsewhere(name, path, unsearched_places(settings, snapshot))
            explanation = replace(explanation, unknown=(*elsewhere, *explanation.unknown))
        searched = explanation.accounts[0] if explanation.accounts else None
        if args.task is not None and searched is not None and searched.verdict is Verdict.SERVED:
            standing = hub.standing(decode_argument(args.task), hub.find(searched.handle))
    if args.json:
        print_json(explanation_json(explanation, standing))
    else:
        print_text(explanation_text(explanation, standing, searching=args.task is not None))
    return EXIT_OK if explanation.accounts else EXIT_FAILED


def _elsewhere(name: str, path: AskedPath | None, places: Sequence[UnsearchedPlace]) -> Iterator[Cause]:
    """Yield the skill folders of that name, or the one at that path, that are in places that are not searched."""
    from skillhub_mcp.disclosure.why import Cause

    for place in places:
        for directory in place.directories:
            is_asked = fold_name(os.path.basename(directory)) == fold_name(name)
            if is_asked if path is None else os.path.realpath(directory) == path.real:
                yield Cause(f"is not searched: {place.reason.why}", directory, fix=place.reason.advice(place.skills))


def _deciding(settings: Settings) -> Deciding:
    from skillhub_mcp.disclosure.why import Deciding
    from skillhub_mcp.policy.decision_source import RulesAt

    files = rule_files(project_of(settings).root)
    rules = tuple(RulesAt(file.path, found, of_project=file is files.project) for file, found in files.usable())
    return Deciding(rules, choices_path())


def _asked_path(name: str) -> AskedPath | None:
    """Return what is at a path, or None for a name: a path has a separator, or leads to a skill from here."""
    from skillhub_mcp.disclosure.why import AskedPath

    path = skill_directory(os.path.abspath(expand_home(name)))
    has_file = skill_file_in(path) is not None
    if os.sep not in name and not has_file:
        return None
    return AskedPath(path, os.path.realpath(path), os.path.lexists(path), os.path.isdir(path), has_file)


def _folder_named(name: str, snapshot: Snapshot) -> AskedPath | None:
    """Return the directory of that name in a root, or one that the scan skipped."""
    if os.sep in name:
        return None
    below = (os.path.join(root.path, name) for root in snapshot.report.roots)
    skipped = (place for places in snapshot.report.ignored.paths.values() for place in places)
    named = (place for place in skipped if os.path.basename(place) == name)
    folder = next(filter(os.path.isdir, (*below, *named)), None)
    return None if folder is None else _asked_path(folder)
