"""`skillhub why`: why a skill is served or not, and why a search does not put it first."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillhub_mcp.bootstrap import project_of, rule_files
from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json, print_text
from skillhub_mcp.disclosure.why import Account, AskedPath, Cause, Deciding, Explanation, Verdict, explain
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.files import choices_file, read_text
from skillhub_mcp.policy.origins import ChoicesText, RulesText
from skillhub_mcp.search.ranking import HALF
from skillhub_mcp.search.standing import LeftOut, Standing
from skillhub_mcp.settings import Settings, read_settings
from skillhub_mcp.skills.model import SKILL_FILE


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "why",
        help="say why a skill is served or not, or why it is not found first",
        description="Say what became of a skill: from where it is served, or what shadows, filters, switches off, "
        "denies or refuses it, with file and line. With a task, say where a search for it puts the skill, and what the "
        "first hit has that it has not. Exits with 1 if nothing has that name.",
    )
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task in quotes, as for search")
    parser.add_argument("name", metavar="NAME", help="name, alias, name@source, folder or path of a skill")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the explanation. Raises PolicyUnreadable, and IndexUnavailable where a search is asked about."""
    settings, _ = read_settings(os.environ, options)
    name = decode_argument(args.name)
    standing = None
    with open_hub(options) as hub:
        snapshot, policy = hub.snapshot_and_policy()
        path = None if snapshot.find(name) is not None else _asked_path(name)
        explanation = explain(name, snapshot, policy, _deciding(settings), path=path)
        searched = explanation.accounts[0] if explanation.accounts else None
        if args.task is not None and searched is not None and searched.verdict is Verdict.SERVED:
            standing = _standing(hub, decode_argument(args.task), searched)
    if args.json:
        print_json(_explanation_json(explanation, standing))
    else:
        print_text(_explanation_text(explanation, standing, searching=args.task is not None))
    return EXIT_OK if explanation.accounts else EXIT_FAILED


def _deciding(settings: Settings) -> Deciding:
    files = rule_files(settings, project_of(settings).root)
    rules = [
        RulesText(file.path, read, read_text(file.path))
        for file in (*files.own, *files.foreign)
        if (read := file.read()) is not None
    ]
    choices = choices_file(settings.policy.choices).read()
    path = settings.policy.choices
    return Deciding(tuple(rules), None if choices is None else ChoicesText(path, choices, read_text(path)))


def _asked_path(name: str) -> AskedPath | None:
    """Return what is at a path, or None for a name: a path has a separator, or leads to a skill from here."""
    path = os.path.abspath(os.path.expanduser(name))
    path = os.path.dirname(path) if os.path.basename(path) == SKILL_FILE else path
    has_file = os.path.lexists(os.path.join(path, SKILL_FILE))
    if os.sep not in name and not has_file:
        return None
    return AskedPath(path, os.path.realpath(path), os.path.lexists(path), os.path.isdir(path), has_file)


def _standing(hub: SkillHub, task: str, account: Account) -> Standing:
    return hub.standing(task, hub.find(account.handle))


def _explanation_json(explanation: Explanation, standing: Standing | None) -> dict[str, object]:
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


def _standing_json(standing: Standing) -> dict[str, object]:
    return {
        "task": standing.task,
        "rank": standing.rank,
        "hits": standing.hits,
        "score": round(standing.score, 4),
        "left_out": None if standing.left_out is None else standing.left_out.value,
        "first": {"name": standing.first, "score": round(standing.first_score, 4)} if standing.first else None,
        "matched": list(standing.matched),
        "differences": [asdict(one) | {"what": one.describe()} for one in standing.differences],
        "nearness": standing.nearness,
        "first_nearness": standing.first_nearness,
    }


def _explanation_text(explanation: Explanation, standing: Standing | None, *, searching: bool) -> str:
    lines: list[str] = []
    if not explanation.accounts:
        lines.append(f"{explanation.asked} is not known")
        lines += _cause_lines(explanation.unknown)
        if explanation.near:
            near = ", ".join(f"{one.name} ({one.verdict.value})" for one in explanation.near)
            lines.append(f"  like it: {near}")
        return "\n".join(lines)
    if standing is not None:
        lines += _standing_lines(standing, explanation.accounts[0])
    elif searching:
        lines.append("A search does not find it, as it is not served to models:")
    for account in explanation.accounts:
        name = account.handle or os.path.basename(account.directory)
        source = f" ({account.source})" if account.source else ""
        lines.append(f"{name} is {account.verdict.value}: {account.directory}{source}")
        lines += _cause_lines(account.causes)
    return "\n".join(lines)


def _cause_lines(causes: tuple[Cause, ...]) -> list[str]:
    lines = []
    for cause in causes:
        where = f"{cause.path}:{cause.line}" if cause.line else cause.path
        lines.append(f"  {where}{': ' if where else ''}{cause.what}{'; ' if cause.mend else ''}{cause.mend}")
    return lines


def _standing_lines(standing: Standing, account: Account) -> list[str]:
    name, hits = account.handle, f"{standing.hits:,} hits for {standing.task!r}"
    if standing.rank is None:
        why = "" if standing.left_out is None else f": {standing.left_out.value}"
        lines = [f"{name} is not among the {hits}{why}"]
    elif standing.rank == 1:
        near_miss = "" if standing.score >= HALF else ", a near miss: nothing fits well"
        lines = [f"{name} is the first of {hits}, {standing.score:.2f}{near_miss}"]
    else:
        lines = [f"{name} is number {standing.rank:,} of {hits}, {standing.score:.2f}"]
        lines += [] if standing.left_out is None else [f"  it is not shown: {standing.left_out.value}"]
    if standing.rank != 1 and standing.first:
        lines += _first_lines(standing)
    if standing.matched:
        lines.append(f"  of the task it has: {', '.join(standing.matched)}")
    return lines


def _first_lines(standing: Standing) -> list[str]:
    """Return what the first hit is, and what it has that this skill has not."""
    reasons = ["its name is the task, and such a skill comes first"] if standing.named else []
    reasons += [one.describe() for one in standing.differences]
    reasons += _nearness(standing)
    if not reasons and standing.left_out is not LeftOut.COPY:
        reasons = ["both have the same words; the first has them side by side, or in a shorter text"]
    return [f"  {line}" for line in (f"the first is {standing.first}, {standing.first_score:.2f}", *reasons)]


def _nearness(standing: Standing) -> list[str]:
    if standing.nearness is None or standing.first_nearness is None or standing.first_nearness <= standing.nearness:
        return []
    return [f"the first is nearer to it in meaning: {standing.first_nearness:.2f}, this one {standing.nearness:.2f}"]
