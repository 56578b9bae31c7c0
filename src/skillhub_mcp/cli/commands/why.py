"""`skillhub why`: why a skill is served or not, and why a search does not put it first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.bootstrap.policy import rule_files
from skillhub_mcp.chosen_roots import choices_path, project_of
from skillhub_mcp.cli.arguments import decode_argument, skill_argument
from skillhub_mcp.cli.console import print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.disclosure.why import Account, AskedPath, Cause, Deciding, Explanation, Verdict, explain
from skillhub_mcp.environment import expand_home
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.search.rank_explanation import LeftOut, RankExplanation, Stand
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.model import skill_directory
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name

if TYPE_CHECKING:
    from skillhub_mcp.skills.discovery_report import UnsearchedPlace
    from skillhub_mcp.skills.snapshot import Snapshot

DESCRIPTION = (
    "Explain what became of a skill: where it is served from, or what shadows, filters, disables, denies or refuses "
    "it, with file and line. With a task, also where a search ranks it and what the first hit has that it lacks. "
    "Fails if no skill has that name."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task in quotes, as for search")
    parser.add_argument("name", metavar="NAME", help="name, alias, name@source, folder or path of a skill")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the explanation. Raises PolicyUnreadable, and IndexUnavailable where a search is asked about."""
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
        print_json(_explanation_json(explanation, standing))
    else:
        print_text(_explanation_text(explanation, standing, searching=args.task is not None))
    return EXIT_OK if explanation.accounts else EXIT_FAILED


def _elsewhere(name: str, path: AskedPath | None, places: Sequence[UnsearchedPlace]) -> Iterator[Cause]:
    """Yield the skill folders of that name, or the one at that path, that are in places that are not searched."""
    for place in places:
        for directory in place.directories:
            is_asked = fold_name(os.path.basename(directory)) == fold_name(name)
            if is_asked if path is None else os.path.realpath(directory) == path.real:
                yield Cause(f"is not searched: {place.reason.why}", directory, fix=place.reason.advice(place.skills))


def _deciding(settings: Settings) -> Deciding:
    from skillhub_mcp.policy.decision_source import RulesAt

    files = rule_files(project_of(settings).root)
    rules = tuple(RulesAt(file.path, found, of_project=file is files.project) for file, found in files.usable())
    return Deciding(rules, choices_path())


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


def _explanation_json(explanation: Explanation, standing: RankExplanation | None) -> dict[str, object]:
    """Return it as JSON values."""
    return {
        "asked": explanation.asked,
        "accounts": [
            {
                "verdict": account.verdict.value,
                "name": account.name or None,
                "handle": account.handle or None,
                "source": account.source,
                "path": account.directory,
                "causes": [asdict(cause) for cause in account.causes],
            }
            for account in explanation.accounts
        ],
        "unknown": [asdict(cause) for cause in explanation.unknown],
        "near": [{"name": one.name, "verdict": one.verdict.value} for one in explanation.near],
        "search": None if standing is None else _standing_json(standing),
    }


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


def _explanation_text(explanation: Explanation, standing: RankExplanation | None, *, searching: bool) -> str:
    """Return it as text. `searching` where a task was given, of which there may be no `standing`."""
    lines: list[str] = []
    if not explanation.accounts:
        lines.append(f"{in_line(explanation.asked)} is not known")
        lines += _cause_lines(explanation.unknown)
        if explanation.near:
            near = ", ".join(f"{one.name} ({one.verdict.value})" for one in explanation.near)
            lines.append(f"  like it: {in_line(near)}")
        return "\n".join(lines)
    if standing is not None:
        lines += _standing_lines(standing, explanation.accounts[0])
    elif searching:
        lines.append("A search does not find it, as it is not served to models:")
    for account in explanation.accounts:
        name = account.handle or os.path.basename(account.directory)
        source = f" ({account.source})" if account.source else ""
        lines.append(f"{in_line(name)} is {account.verdict.value}: {in_line(account.directory)}{source}")
        lines += _cause_lines(account.causes)
    return "\n".join(lines)


def _cause_lines(causes: tuple[Cause, ...]) -> list[str]:
    lines = []
    for cause in causes:
        where = f"{cause.path}:{cause.line}" if cause.line else cause.path
        line = f"{where}{': ' if where else ''}{cause.message}{'; ' if cause.fix else ''}{cause.fix}"
        lines.append(f"  {in_line(line)}")
    return lines


def _standing_lines(standing: RankExplanation, account: Account) -> list[str]:
    name, hits = in_line(account.handle), f"{standing.hits:,} hits for {standing.task!r}"
    if standing.rank is None:
        why = "" if standing.left_out is None else f": {standing.left_out.value}"
        lines = [f"{name} is not among the {hits}{why}"]
    elif standing.rank == 1:
        near_miss = "" if standing.confident else ", a near miss: nothing fits well"
        lines = [f"{name} is the first of {hits}, {standing.own.score:.2f}{near_miss}"]
    else:
        lines = [f"{name} is number {standing.rank:,} of {hits}, {standing.own.score:.2f}"]
        lines += [] if standing.left_out is None else [f"  it is not shown: {standing.left_out.value}"]
    if standing.rank != 1 and standing.first is not None:
        lines += _first_lines(standing, standing.first)
    if standing.own.parts:
        lines.append(f"  of the task it has: {in_line(', '.join(one.asked for one in standing.own.parts))}")
    return lines


def _first_lines(standing: RankExplanation, first: Stand) -> list[str]:
    """Return what the first hit is, and what it has that this skill has not."""
    reasons = ["its name is the task, and such a skill comes first"] if standing.named else []
    reasons += [one.describe() for one in standing.differences]
    reasons += _nearness(standing.own.nearness, first.nearness)
    if not reasons and standing.left_out is not LeftOut.COPY:
        reasons = ["both have the same words; the first has them more often, or in a shorter text"]
    return [f"  {in_line(line)}" for line in (f"the first is {first.handle}, {first.score:.2f}", *reasons)]


def _nearness(own: float | None, first: float | None) -> list[str]:
    if own is None or first is None or first <= own:
        return []
    return [f"the first is nearer to it in meaning: {first:.2f}, this one {own:.2f}"]
