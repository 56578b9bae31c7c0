"""`skillhub list`: the skills that are served, with those shadowed by another of the same name."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.cli.console import Part, one_line, print_line, print_note, print_table, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    empty_exit_code,
    empty_json,
    listed_json,
    print_empty_result,
    print_json,
    problem_lines,
)
from skillhub_mcp.disclosure.listing import count_skills
from skillhub_mcp.environment import shown_path
from skillhub_mcp.hub import ListedSkill, SkillHub
from skillhub_mcp.locks.lock_verifier import LockStanding
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.roots import SOURCES, Source

_SHOWN_PLACES = 3
_STANDINGS = {
    Availability.OFF: "off",
    Availability.DENIED: "denied by a rule",
    Availability.WITHHELD: "withheld by the audit",
    Availability.CHANGED: "not as it was locked",
    Availability.UNTRUSTED: "left out",
    Availability.UNDECIDED: "its project's rules cannot be read",
}
_LOCK_NOTES = {"edited": "edited since it was locked", "outdated": "outdated"}


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--all", action="store_true", help="include skills that are disabled or denied")
    parser.add_argument("--core", action="store_true", help="only core skills, those with alwaysApply")
    parser.add_argument("--category", metavar="NAME", help="only this category")
    parser.add_argument("--source", choices=SOURCES, help="only this source")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """List the skills that are served."""
    source = Source(args.source) if args.source else None
    empty = None
    with open_hub(options) as hub:
        listed = hub.listed()
        chosen = [one for one in listed if _matches(one, args)]
        if not chosen:
            empty = hub.why_nothing(category=args.category, source=source, core=args.core, for_models=False)
        elsewhere = unsearched_places(settings_of(options), hub.views.snapshot())
        locks = hub.lock_standings(one.skill for one in chosen)
        rows = [(one, _risk(hub, one.skill), lock) for one, lock in zip(chosen, locks, strict=True)]
        counts = count_skills(*hub.snapshot_and_policy())
    categories = dict(sorted(Counter(one.skill.category for one in chosen if one.skill.category).items()))
    if args.json:
        not_searched = [
            {"path": one.place.path, "skills": one.skills, "why": one.reason.why, "command": one.reason.command or None}
            for one in elsewhere
        ]
        result = {"skills": [_skill_json(*row) for row in rows], "categories": categories, "not_searched": not_searched}
        print_json(result | empty_json(empty))
        return empty_exit_code(empty)
    if rows:
        print_table(("skill", "source", "description"), [_cells(*row) for row in rows])
    if sys.stdout.isatty() and rows:
        filtered = f"{len(chosen):,} of these: " if args.core or args.category or args.source else ""
        print_text(f"\n{filtered}{counts.sentence()}")
        if named := ", ".join(f"{one} ({count:,})" for one, count in categories.items()):
            print_line(f"Categories: {named}")
    if empty is not None:
        print_empty_result(empty)
    elif elsewhere:
        print_note("", *problem_lines([one.as_problem() for one in elsewhere[:_SHOWN_PLACES]]).split("\n"))
        if (more := len(elsewhere) - _SHOWN_PLACES) > 0:
            print_note(f"{plural(more, 'more place')} with skills: `skillhub roots` lists them")
    if awaiting := sum(one.skill.awaits_trust for one in listed):
        print_note("", f"{plural(awaiting, 'skill')} of this project awaiting trust: `skillhub trust` shows them")
    return empty_exit_code(empty)


def _matches(one: ListedSkill, args: argparse.Namespace) -> bool:
    return (
        (one.served or args.all)
        and (one.skill.is_pinned or not args.core)
        and (args.category is None or fold_name(one.skill.category or "") == fold_name(args.category))
        and (args.source is None or one.source.value == args.source)
    )


def _risk(hub: SkillHub, skill: Skill) -> str:
    """Return the worst severity that the audit found, if agents are warned of it."""
    findings = hub.audited(skill)
    worst = findings[0].severity.value if findings else ""
    return worst if worst in ("critical", "high") else ""


def _cells(one: ListedSkill, risk: str, lock: LockStanding | None) -> tuple[Part, ...]:
    text = one_line(one.skill.description, width=None)
    notes = [
        _STANDINGS.get(one.standing, ""),
        f"audit: {risk}" if risk == "critical" else "",
        _LOCK_NOTES.get(lock.state.value, "") if lock is not None else "",
        "awaits trust" if one.skill.awaits_trust else "",
        f"shadowed by {shown_path(one.shadowed_by.directory)}" if one.shadowed_by is not None else "",
        "its skills directory is away" if one.is_away else "",
        "not for models" if one.skill.disable_model_invocation else "",
        "not user-invocable" if not one.skill.user_invocable else "",
    ]
    noted = ", ".join(filter(None, notes))
    return one.handle, (one.source.value, "dim"), (f"({noted}) {text}", "yellow") if noted else text


def _skill_json(one: ListedSkill, risk: str, lock: LockStanding | None) -> dict[str, object]:
    return {
        **listed_json(one),
        "audit": risk or None,
        "lock": None if lock is None else lock.facts(),
        "shadowed_by": None if one.shadowed_by is None else one.shadowed_by.directory,
        "diagnostics": [diagnostic.rule for diagnostic in one.skill.diagnostics],
    }
