"""`skillhub why`: why a skill is served or not, and why a search does not put it first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from skillhub_mcp.bootstrap.library import rule_files, unsearched_places
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import decode_argument, skill_argument
from skillhub_mcp.cli.console import print_line
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.disclosure.why import Account, AskedPath, Cause, Deciding, Explainer, Explanation, Verdict
from skillhub_mcp.environment import expand_home
from skillhub_mcp.policy.files import CHOICES
from skillhub_mcp.search.rank_explanation import LeftOut, RankExplanation
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.model import skill_directory
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.places import UnsearchedPlace
from skillhub_mcp.skills.snapshot import Snapshot


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task in quotes, as for search")
    parser.add_argument("name", metavar="NAME", help="name, alias, name@source, folder or path of a skill")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Explain what became of a skill: where it is served from, or what shadows, filters, disables, denies or refuses
    it, with file and line. With a task, also where a search ranks it and what the first hit has that it lacks. Fails if
    no skill has that name.
    """
    settings = settings_of(options)
    name = skill_argument(args.name)
    standing = None
    with open_hub(options) as hub:
        snapshot, policy = hub.snapshot_and_policy()
        names = Names(snapshot, policy)
        deciding = Deciding(rule_files(project_of(settings).root).usable(), CHOICES.path)
        explainer = Explainer(names, policy, deciding)
        path = None if names.find(name) is not None else _asked_path(name)
        explanation = explainer.explain(name, path)
        if not explanation.accounts and path is None and (path := _folder_named(name, snapshot)) is not None:
            explanation = explainer.explain(name, path)
        if not explanation.accounts:
            elsewhere = _elsewhere(name, path, unsearched_places(settings, snapshot))
            explanation = replace(explanation, unknown=(*elsewhere, *explanation.unknown))
        searched = explanation.accounts[0] if explanation.accounts else None
        if args.task is not None and searched is not None and searched.verdict is Verdict.SERVED:
            standing = hub.engine.standing(decode_argument(args.task), hub.find(searched.handle).directory)
    if args.json:
        print_json(asdict(explanation) | {"search": None if standing is None else _standing_json(standing)})
    else:
        for line in _explanation_lines(explanation, standing, searching=args.task is not None):
            print_line(line)
    return EXIT_OK if explanation.accounts else EXIT_FAILED


def _elsewhere(name: str, path: AskedPath | None, places: Sequence[UnsearchedPlace]) -> Iterator[Cause]:
    """Yield the skill folders of that name, or the one at that path, that are in places that are not searched."""
    for place in places:
        for directory in place.directories:
            is_asked = fold_name(os.path.basename(directory)) == fold_name(name)
            if is_asked if path is None else os.path.realpath(directory) == path.real:
                yield Cause(f"is not searched: {place.reason.why}", directory, fix=place.reason.advice(place.skills))


def _asked_path(name: str) -> AskedPath | None:
    """Return what is at a path, or None for a name: a path has a separator, or leads to a skill from here."""
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


def _standing_json(standing: RankExplanation) -> dict[str, object]:
    own, first = standing.own, standing.first
    return {
        "task": standing.task,
        "rank": standing.rank,
        "hits": standing.hits,
        "score": round(own.score, 4),
        "left_out": None if standing.left_out is None else standing.left_out.value,
        "first": None if first is None else {"name": first.handle, "score": round(first.score, 4)},
        "matched": [one.asked for one in own.parts],
        "differences": [asdict(one) | {"message": one.describe()} for one in standing.differences],
        "nearness": own.nearness,
        "first_nearness": None if first is None else first.nearness,
    }


def _explanation_lines(explanation: Explanation, standing: RankExplanation | None, *, searching: bool) -> Iterator[str]:
    """Yield it as text. `searching` if a task was given."""
    if not explanation.accounts:
        yield f"{explanation.asked} is not known"
        yield from map(_cause_line, explanation.unknown)
        if explanation.near:
            yield "  like it: " + ", ".join(f"{one.name} ({one.verdict.value})" for one in explanation.near)
    elif standing is not None:
        yield from _standing_lines(standing, explanation.accounts[0])
    elif searching:
        yield "A search does not find it, as it is not served to models:"
    for account in explanation.accounts:
        name = account.handle or os.path.basename(account.directory)
        source = f" ({account.source})" if account.source else ""
        yield f"{name} is {account.verdict.value}: {account.directory}{source}"
        yield from map(_cause_line, account.causes)


def _cause_line(cause: Cause) -> str:
    where = f"{cause.path}:{cause.line}" if cause.line else cause.path
    return f"  {where}{': ' if where else ''}{cause.message}{'; ' if cause.fix else ''}{cause.fix}"


def _standing_lines(standing: RankExplanation, account: Account) -> Iterator[str]:
    name, hits = account.handle, f"{standing.hits:,} hits for {standing.task!r}"
    left_out = standing.left_out.value if standing.left_out is not None else ""
    if standing.rank is None:
        yield f"{name} is not among the {hits}{': ' if left_out else ''}{left_out}"
    elif standing.rank == 1:
        near_miss = "" if standing.confident else ", a near miss: nothing fits well"
        yield f"{name} is the first of {hits}, {standing.own.score:.2f}{near_miss}"
    else:
        yield f"{name} is number {standing.rank:,} of {hits}, {standing.own.score:.2f}"
        if left_out:
            yield f"  it is not shown: {left_out}"
    first, own = standing.first, standing.own
    if standing.rank != 1 and first is not None:
        yield f"  the first is {first.handle}, {first.score:.2f}"
        reasons = ["its name is the task, and such a skill comes first"] if standing.named else []
        reasons += [one.describe() for one in standing.differences]
        if own.nearness is not None and first.nearness is not None and first.nearness > own.nearness:
            reasons.append(f"the first is nearer to it in meaning: {first.nearness:.2f}, this one {own.nearness:.2f}")
        if not reasons and standing.left_out is not LeftOut.COPY:
            reasons.append("both have the same words; the first has them more often, or in a shorter text")
        yield from (f"  {one}" for one in reasons)
    if own.parts:
        yield f"  of the task it has: {', '.join(one.asked for one in own.parts)}"
