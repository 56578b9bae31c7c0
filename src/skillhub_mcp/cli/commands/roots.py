"""`skillhub roots`: every place that may hold skills, searched or not, and the user's choice of further ones."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import surroundings_of
from skillhub_mcp.chosen_roots import (
    project_of,
    project_trust,
    recorded_roots,
    recorded_roots_problem,
    roots_of,
)
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions, decode_argument
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.found_skills import entries_of, found_skills, record_roots
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.environment import expand_home, shown_path
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.files import ROOTS
from skillhub_mcp.policy.recorded_roots import RECORDABLE_PLACES, RecordedRoots
from skillhub_mcp.redaction import redacted
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import Trust
from skillhub_mcp.skills.places import MAX_DIRECTORIES, PlaceReason, why_searched, word_of
from skillhub_mcp.skills.roots import SkillRoot, absolute, is_at_or_below


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    actions = add_actions(parser)
    adding = add_action(actions, "add", _add, "search further places", writes=True)
    adding.add_argument("--project", action="store_true", help="for this project only")
    adding.add_argument("--all", action="store_true", help="every place with skills that `skillhub roots` finds")
    removing = add_action(actions, "remove", _remove, "stop searching places that were added", writes=True)
    what = "a directory; or builtin: the examples, claude: .claude/skills, plugins: those of your clients"
    for action in (adding, removing):
        action.add_argument("places", nargs="*" if action is adding else "+", metavar="PLACE", help=what)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """List every place that may hold skills: whether it is searched, why, how many skills it has, and what changes
    that. Added places are recorded in ~/.skillhub/roots.json; SKILLS_DIR and SKILLHUB_ROOTS override them.
    """
    settings, problem = settings_of(options), recorded_roots_problem()
    places = _places(settings, () if problem else recorded_roots().places)
    problems = [problem.sentence()] if problem else []
    if args.json:
        publication = redacted(settings.index.db_path) if settings.replica.read_only else None
        print_json({"places": places, "record": ROOTS.path, "publication": publication, "problems": problems})
    else:
        _print_places(settings, places)
        for sentence in problems:
            print_note("", f"warning: {sentence}")
    return EXIT_FAILED if problems else EXIT_OK


def _places(settings: Settings, recorded: Sequence[str]) -> list[dict[str, Any]]:
    """Return the places that are searched, then the others that exist, as JSON values."""
    roots, surroundings = project_trust(settings).judged(roots_of(settings)), surroundings_of(settings)
    counts, others = surroundings.survey(roots)
    places = []
    for root in roots:
        reason = why_searched(root, surroundings.choice, shown=surroundings.shown(root.path), recorded=recorded)
        places.append(_json(root.path, root.source.value, reason, counts[root.path], trust=root.trust.value))
    for one in others:
        more = {"client": one.place.owner or None, "searched": False, "at_least": one.at_least}
        more |= {"why": one.problem or one.reason.why, "advice": one.reason.advice(one.skills)}
        places.append(_json(one.place.path, one.place.source.value, one.reason, one.skills, **more))
    return places


def _json(path: str, source: str, reason: PlaceReason, skills: int, **more: object) -> dict[str, Any]:
    known = {"path": path, "source": source, "client": None, "searched": True, "skills": skills, "at_least": False}
    known |= {"exists": os.path.isdir(path), "trust": None, "why": reason.why}
    return known | {"command": reason.command or None, "setting": reason.setting or None} | more


def _print_places(settings: Settings, places: Sequence[dict[str, Any]]) -> None:
    surroundings, publication = surroundings_of(settings), settings.replica.read_only
    if publication:
        named = shown_path(redacted(settings.index.db_path))
        print_line(f"SKILLHUB_READ_ONLY is set: the publication {named} is served, and no place of this machine.")
        print_line("")
    print_text("Searched; if two skills share a name, the one listed first wins:")
    for one in (one for one in places if one["searched"]):
        remark = f"  (added; `{one['command']}` removes it)" if one["command"] else ""
        if one["skills"] and one["trust"] in (Trust.AWAITED.value, Trust.CHANGED.value):
            remark += "  (awaits trust, so it comes last: `skillhub trust`)"
        state = plural(one["skills"], "skill") if one["exists"] else "not there"
        print_line(f"  {one['source']:<8} {state:>10}  {surroundings.shown(one['path'])}{remark}")
    choice = surroundings.choice
    if choice.words_given or choice.dirs_given:
        print_text(f"    {'SKILLHUB_ROOTS' if choice.words_given else 'SKILLS_DIR'} is set, and chooses these alone")
    others = sorted((one for one in places if not one["searched"]), key=lambda one: not one["skills"])
    if others:
        print_text("\nNot searched:")
    for one in others:
        print_line(f"  {one['source']:<8} {_count(one):>10}  {surroundings.shown(one['path'])}")
        if one["skills"] and not publication:
            print_line(f"    {one['why']}")
            print_line(f"    → {one['advice']}")


def _add(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    if not (args.places or args.all):
        raise InvalidArgument("PLACE", "is required", hint="`skillhub roots add --all` adds every place with skills")
    if args.all and (args.places or args.project):
        raise InvalidArgument("--all", "takes no PLACE and no --project", hint="remove one of the two")
    project = project_of(settings).root if args.project else None
    entries = {_checked(decode_argument(typed), project): project for typed in args.places}
    if args.all:
        entries = entries_of(found_skills(settings)[1], settings)
    before = {entry: bool(_roots_of_entry(entry, roots_of(settings))) for entry in entries}
    # A place that is searched by default, or under another path, needs no record; settings may change that.
    chosen = settings.skills.dirs_given or settings.skills.roots_given
    if not args.dry_run:
        record_roots({entry: within for entry, within in entries.items() if chosen or not before[entry]})
    added = []
    for entry in entries:
        roots = _roots_of_entry(entry, roots_of(settings))
        # A word may stand for no directory yet.
        searched = bool(roots) or (entry in RECORDABLE_PLACES and not chosen)
        # Only a part of a large directory is searched.
        bounded = (replace(root, max_directories=MAX_DIRECTORIES) for root in roots or [SkillRoot(entry, entry)])
        walk = walk_roots(tuple(bounded))
        known: dict[str, Any] = {"place": entry, "searched": searched, "before": before[entry]}
        added.append(known | {"skills": len(walk.found), "at_least": bool(walk.cut)})
    if args.json:
        return print_json({"added": added, "project": project, "record": ROOTS.path, "dry_run": args.dry_run})
    for one in added:
        state = _state(one, " in this project" if entries[one["place"]] else "", dry_run=args.dry_run)
        # The directories of a word are not known before it is recorded.
        count = f": {_count(one)}" if one["skills"] or not args.dry_run else ""
        print_line(f"{surroundings_of(settings).shown(one['place'])} {state}{count}")
    if not added:
        print_text("Every skill that was found is served already; `skillhub roots` lists the places.")
    if chosen and not args.dry_run and not all(one["searched"] for one in added):
        name = "SKILLS_DIR" if settings.skills.dirs_given else "SKILLHUB_ROOTS"
        print_note(f"{name} is set here: `skillhub roots` lists what that leaves out")
    return EXIT_OK


def _state(added: Mapping[str, Any], where: str, *, dry_run: bool) -> str:
    if added["before"]:
        return "was searched already"
    if dry_run:
        return f"would be recorded{where}"
    return f"is searched{where} from now on" if added["searched"] else f"is recorded{where}, and not searched here"


def _roots_of_entry(entry: str, roots: Sequence[SkillRoot]) -> list[SkillRoot]:
    """Return those of the roots that a word stands for, or that are a directory, perhaps under another path."""
    if entry in RECORDABLE_PLACES:
        return [root for root in roots if word_of(root) == entry]
    # A project's root that is a link out of it is not searched.
    return [root for root in roots if root.real == os.path.realpath(entry) and not root.leads_out(root.real)]


def _count(place: Mapping[str, Any]) -> str:
    return f"{'at least ' if place['at_least'] else ''}{plural(place['skills'], 'skill')}"


def _checked(typed: str, project: str | None) -> str:
    """Return what is recorded for an argument. Raises InvalidArgument."""
    if typed in RECORDABLE_PLACES:
        if project is not None:
            raise InvalidArgument("--project", f"cannot be used with {typed}", hint=f"record {typed} for all projects")
        return typed
    path, hint = absolute(typed), "name the directory that has the skills"
    if not typed or not os.path.isdir(path):
        raise InvalidArgument(repr(typed), "is not a directory", hint=hint)
    if is_at_or_below(os.path.realpath(expand_home("~")), os.path.realpath(path)):
        raise InvalidArgument(repr(typed), "is the home directory or holds it", hint=hint)
    # Links of a project are not followed out of it, but the user may name one.
    return path if project is None or not is_at_or_below(path, project) else os.path.realpath(path)


def _remove(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings, recorded = settings_of(options), recorded_roots()
    known = {*recorded.everywhere, *(entry for own in recorded.projects.values() for entry in own)}
    entries = [_recorded(decode_argument(typed), known) for typed in args.places]

    def change(record: RecordedRoots) -> RecordedRoots:
        for entry in entries:
            record = record.without_entry(entry)
        return record

    if not args.dry_run:
        ROOTS.change(ROOTS.path, change)
    if args.json:
        return print_json({"removed": entries, "record": ROOTS.path, "dry_run": args.dry_run})
    state = f"{'would be' if args.dry_run else 'is'} no longer searched"
    for entry in entries:
        print_line(f"{surroundings_of(settings).shown(entry)} {state}")
    return EXIT_OK


def _recorded(typed: str, known: set[str]) -> str:
    """Return the recorded entry that an argument means. Raises InvalidArgument."""
    path = os.path.realpath(absolute(typed))
    for entry in sorted(known):
        if entry == typed or (entry not in RECORDABLE_PLACES and os.path.realpath(entry) == path):
            return entry
    raise InvalidArgument(repr(typed), "was not added", hint="`skillhub roots` lists what was")
