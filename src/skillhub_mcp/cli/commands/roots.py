"""`skillhub roots`: every place that may hold skills, searched or not, and the person's choice of further ones."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.library import surroundings_of
from skillhub_mcp.chosen_roots import (
    project_of,
    project_trust,
    recorded_roots,
    recorded_roots_problem,
    roots_of,
    roots_path,
)
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions, decode_argument
from skillhub_mcp.cli.console import print_note, print_text
from skillhub_mcp.cli.library_place import served_publication
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, plural, print_json
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.policy.files import change_roots
from skillhub_mcp.redaction import redacted
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.recorded_roots import RECORDABLE_PLACES, RecordedRoots
from skillhub_mcp.skills.roots import SkillRoot, absolute, is_at_or_below

if TYPE_CHECKING:
    from skillhub_mcp.skills.discovery_report import Surroundings, UnsearchedPlace
    from skillhub_mcp.skills.places import PlaceReason

_WHAT = "a directory; or builtin: the examples, claude: .claude/skills, plugins: those of your clients"
_INDENT = " " * 4


DESCRIPTION = (
    "List every place that may hold skills: whether it is searched, why, how many skills it has, and what changes "
    "that. Added places are recorded in ~/.skillhub/roots.json; SKILLS_DIR and SKILLHUB_ROOTS override them."
)


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    actions = add_actions(parser)
    adding = add_action(actions, "add", _add, "search further places", writes=True)
    adding.add_argument("--project", action="store_true", help="for this project only")
    removing = add_action(actions, "remove", _remove, "stop searching places that were added", writes=True)
    for action in (adding, removing):
        action.add_argument("places", nargs="+", metavar="PLACE", help=_WHAT)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the places. That the record cannot be used is a failure. Raises InvalidSetting."""
    settings = settings_of(options)
    problem = recorded_roots_problem()
    words = () if problem is not None else recorded_roots().places
    roots, surroundings = project_trust(settings).judged(roots_of(settings)), surroundings_of(settings)
    counts, others = surroundings.survey(roots)
    if args.json:
        problems = [] if problem is None else [problem.sentence()]
        searched = [_root_json(root, counts[root.path], surroundings, words) for root in roots]
        print_json(
            {
                "places": [*searched, *map(_other_json, others)],
                "record": roots_path(),
                "publication": redacted(settings.index.db_path) if settings.replica.read_only else None,
                "problems": problems,
            }
        )
    else:
        listing = _listing(roots, counts, others, surroundings, words, publication=served_publication(settings))
        print_text("\n".join(listing))
        if problem is not None:
            print_note(f"\nwarning: {problem.sentence()}")
    return EXIT_OK if problem is None else EXIT_FAILED


def _listing(
    roots: Sequence[SkillRoot],
    counts: Mapping[str, int],
    others: Sequence[UnsearchedPlace],
    surroundings: Surroundings,
    words: Sequence[str],
    *,
    publication: str,
) -> Iterator[str]:
    if publication:
        yield from (f"{publication}.", "")
    searched = "Searched otherwise" if publication else "Searched"
    yield f"{searched}; if two skills share a name, the one listed first wins:"
    states = [plural(counts[root.path], "skill") if os.path.isdir(root.path) else "not there" for root in roots]
    width = max(map(len, states), default=0)
    for root, state in zip(roots, states, strict=True):
        shown = surroundings.shown(root.path)
        reason = _reason(root, surroundings, words)
        added = f"  (added; `{reason.command}` ends it)" if reason.command else ""
        last = (
            "  (awaits trust, so it comes last: `skillhub trust`)"
            if counts[root.path] and root.trust.is_awaited
            else ""
        )
        yield f"  {root.source.value:<8} {state:>{width}}  {in_line(shown + added + last)}"
    yield f"{_INDENT}{_chosen_by(surroundings)}"
    for heading, some in (
        ("Not searched:", [one for one in others if one.skills]),
        ("Not searched, without skills of their own:", [one for one in others if not one.skills]),
    ):
        yield from ["", heading] if some else []
        for one in some:
            yield in_line(f"  {one.shown} {one.problem}" if one.problem else f"  {one.where}")
            if one.skills:
                yield f"{_INDENT}{in_line(one.reason.why)}"
                yield from [] if publication else [f"{_INDENT}→ {in_line(one.reason.advice(one.skills))}"]


def _chosen_by(surroundings: Surroundings) -> str:
    choice = surroundings.choice
    if choice.words_given:
        return f"SKILLHUB_ROOTS={','.join(choice.words)} chooses these"
    if choice.dirs_given:
        return "SKILLS_DIR is set, and then nothing else is searched; unset it for the project's and your own skills"
    return "`skillhub roots add DIR` adds places, SKILLHUB_ROOTS chooses others"


def _reason(root: SkillRoot, surroundings: Surroundings, words: Sequence[str]) -> PlaceReason:
    from skillhub_mcp.skills.places import why_searched

    return why_searched(root, surroundings.choice, shown=surroundings.shown(root.path), recorded=words)


def _root_json(root: SkillRoot, count: int, surroundings: Surroundings, words: Sequence[str]) -> dict[str, object]:
    reason = _reason(root, surroundings, words)
    return {
        "path": root.path,
        "source": root.source.value,
        "client": None,
        "searched": True,
        "skills": count,
        "exists": os.path.isdir(root.path),
        "trust": root.trust.value,
        "why": reason.why,
        "command": reason.command or None,
        "setting": reason.setting or None,
    }


def _other_json(one: UnsearchedPlace) -> dict[str, object]:
    return {
        "path": one.place.path,
        "source": one.place.source.value,
        "client": one.place.owner or None,
        "searched": False,
        "skills": one.skills,
        "at_least": one.at_least,
        "exists": True,
        "why": one.problem or one.reason.why,
        "command": one.reason.command or None,
        "setting": one.reason.setting or None,
    }


def _add(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    surroundings = surroundings_of(settings)
    project = project_of(settings).root if args.project else None
    # Every argument is looked at before any is recorded, so that a wrong one changes nothing.
    entries = [_checked(decode_argument(typed), home=surroundings.home, project=project) for typed in args.places]
    before = roots_of(settings)
    chosen = settings.skills.dirs_given or settings.skills.roots_given
    # One that is searched by default, or under another path, needs no record; what settings search, others may not.
    new = [entry for entry in entries if chosen or not _is_searched(entry, before)]

    def change(record: RecordedRoots) -> RecordedRoots:
        for entry in new:
            record = record.with_entry(entry, project=project)
        return record

    if args.dry_run:
        print_text("\n".join(f"{in_line(entry)} would be searched" for entry in new) or "nothing would change")
        return EXIT_OK
    change_roots(roots_path(), change)
    after = roots_of(settings)
    outcomes = [
        {
            "place": entry,
            "searched": _is_searched(entry, after),
            "before": _is_searched(entry, before),
            **_counted(entry, after),
        }
        for entry in entries
    ]
    if args.json:
        print_json({"added": outcomes, "project": project, "record": roots_path()})
        return EXIT_OK
    where = " in this project" if project else ""
    for outcome in outcomes:
        entry = str(outcome["place"])
        shown = entry if entry in RECORDABLE_PLACES else surroundings.shown(entry)
        state = "was searched already" if outcome["before"] else f"is searched{where} from now on"
        state = state if outcome["searched"] else f"is recorded{where}, and not searched here"
        print_text(f"{in_line(shown)} {state}: {outcome['count']}")
    if not all(outcome["searched"] for outcome in outcomes):
        name = "SKILLS_DIR" if settings.skills.dirs_given else "SKILLHUB_ROOTS"
        print_note(f"{name} is set here: `skillhub roots` says what that leaves out")
    elif not all(outcome["before"] for outcome in outcomes):
        print_note("Running servers follow within seconds.")
    if publication := served_publication(settings):
        print_note(publication)
    return EXIT_OK


def _is_searched(entry: str, roots: Sequence[SkillRoot]) -> bool:
    return bool(_roots_of_entry(entry, roots))


def _roots_of_entry(entry: str, roots: Sequence[SkillRoot]) -> list[SkillRoot]:
    """Return those of the roots that a word stands for, or that are a directory, perhaps under another path."""
    from skillhub_mcp.skills.places import word_of

    if entry in RECORDABLE_PLACES:
        return [root for root in roots if word_of(root) == entry]
    real = os.path.realpath(entry)
    return [root for root in roots if root.real == real]


def _counted(entry: str, roots: Sequence[SkillRoot]) -> dict[str, object]:
    """Return the number of skills of an entry, also in words. Of a large directory only a part is looked into."""
    from skillhub_mcp.skills.discovery_report import MAX_DIRECTORIES

    own = [] if entry not in RECORDABLE_PLACES else _roots_of_entry(entry, roots)
    bounded = [replace(root, max_directories=MAX_DIRECTORIES) for root in own or [SkillRoot(entry, entry)]]
    walk = walk_roots(tuple(bounded))
    more = "at least " if walk.cut else ""
    return {"skills": len(walk.found), "count": f"{more}{plural(len(walk.found), 'skill')}"}


def _checked(typed: str, *, home: str, project: str | None) -> str:
    """Return what is recorded for an argument. Raises InvalidArgument."""
    if typed in RECORDABLE_PLACES:
        if project is not None:
            raise InvalidArgument("--project", f"cannot be used with {typed}", hint=f"record {typed} for all projects")
        return typed
    path = absolute(typed)
    if not typed or not os.path.isdir(path):
        hint = "name the directory that has the folders of the skills" if os.path.lexists(path) else "create it first"
        raise InvalidArgument(repr(typed), "is not a directory", hint=hint)
    if is_at_or_below(os.path.realpath(home), os.path.realpath(path)):
        raise InvalidArgument(
            repr(typed), "is the home directory or holds it", hint="name the directory that has the skills"
        )
    return path


def _remove(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    surroundings = surroundings_of(settings)
    recorded = recorded_roots()
    all_entries = {*recorded.everywhere, *(entry for own in recorded.projects.values() for entry in own)}
    entries = [_recorded(decode_argument(typed), all_entries) for typed in args.places]

    def change(record: RecordedRoots) -> RecordedRoots:
        for entry in entries:
            record = record.without_entry(entry)
        return record

    if args.dry_run:
        print_text("\n".join(f"{in_line(entry)} would no longer be searched" for entry in entries))
        return EXIT_OK
    change_roots(roots_path(), change)
    if args.json:
        print_json({"removed": entries, "record": roots_path()})
        return EXIT_OK
    for entry in entries:
        shown = entry if entry in RECORDABLE_PLACES else surroundings.shown(entry)
        print_text(f"{in_line(shown)} is no longer searched")
    return EXIT_OK


def _recorded(typed: str, entries: set[str]) -> str:
    """Return the recorded entry that an argument means. Raises InvalidArgument."""
    path = absolute(typed)
    for entry in (typed, path):
        if entry in entries:
            return entry
    same = [entry for entry in sorted(entries) if os.path.realpath(entry) == os.path.realpath(path)]
    if not same:
        raise InvalidArgument(repr(typed), "was not added", hint="`skillhub roots` lists what was")
    return same[0]
