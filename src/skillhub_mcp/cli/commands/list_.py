"""`skillhub list`: the skills that are served, with those shadowed by another of the same name."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any

from skillhub_mcp.bootstrap.library import unsearched_places
from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.colours import Colour, painter
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_OK,
    one_line,
    plural,
    print_empty_result,
    print_json_list,
    print_note,
    print_painted,
    print_text,
    problems_json,
)
from skillhub_mcp.cli.pager import add_pager_option, paging
from skillhub_mcp.cli.screen import stdout_screen
from skillhub_mcp.cli.table import TableRow, table_lines
from skillhub_mcp.disclosure.counts import SkillCounts, count_skills
from skillhub_mcp.disclosure.empty_result import EmptyResult
from skillhub_mcp.hub import ListedSkill, SkillHub
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.roots import SOURCES, Source

if TYPE_CHECKING:
    from skillhub_mcp.locks.lock_verifier import LockStanding
    from skillhub_mcp.skills.discovery_report import UnsearchedPlace

_SHOWN_PLACES = 3
# A list waits for the audit of a few new skills, not of a library: a server and `skillhub audit` look at all of it.
_FEW_NEW_SKILLS = 25
_STANDINGS = {
    Availability.OFF: "off",
    Availability.DENIED: "denied by a rule",
    Availability.WITHHELD: "withheld by the audit",
    Availability.CHANGED: "not as it was locked",
    Availability.UNTRUSTED: "left out",
    Availability.UNDECIDED: "its project's rules cannot be read",
}
_LOCK_NOTES = {"edited": "edited since it was locked", "outdated": "outdated"}


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "list", group=Group.FIND, everyday=True, help="list the skills", description="List the skills that are served."
    )
    parser.add_argument("--all", action="store_true", help="include skills that are disabled or denied")
    parser.add_argument("--core", action="store_true", help="only core skills, those with alwaysApply")
    parser.add_argument("--category", metavar="NAME", help="only this category")
    parser.add_argument("--source", choices=SOURCES, help="only this source")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the skills by name, or why there are none. That is a failure where something is to be corrected."""
    with open_hub(options) as hub:
        listed = hub.listed()
        _audit_few(hub, [one.skill for one in listed])
        risks = {one.skill.directory: _risk(hub, one.skill) for one in listed}
        chosen = [one for one in listed if _matches(one, args)]
        absence = None if chosen else _absence(hub, args)
        code = EXIT_FAILED if absence is not None and absence.mistake else EXIT_OK
        elsewhere = unsearched_places(settings_of(options), hub.views.snapshot())
        if args.json:
            problems = {} if absence is None else {"problems": problems_json(absence.causes)}
            not_searched = [_elsewhere_json(one) for one in elsewhere]
            print_json_list("skills", _skills_json(hub, chosen, risks), problems | {"not_searched": not_searched})
            return code
        locks = hub.lock_standings((one.skill for one in chosen), provenance=False)
        states = {one.skill.directory: lock.state.value for one, lock in zip(chosen, locks, strict=True) if lock}
        counts = count_skills(*hub.snapshot_and_policy())
    with paging(wanted=not args.no_pager):
        _print_skills(chosen, counts, risks, states, filtered=bool(args.core or args.category or args.source))
    if absence is not None:
        print_empty_result(absence)
    else:
        _note_elsewhere(elsewhere)
    awaiting = sum(one.skill.awaits_trust for one in listed)
    if awaiting:
        print_note(f"\n{plural(awaiting, 'skill')} of this project awaiting trust: `skillhub trust` shows them")
    return code


def _audit_few(hub: SkillHub, skills: Sequence[Skill]) -> None:
    auditor = hub.auditor
    new = [skill for skill in skills if auditor.known(skill) is None] if auditor is not None else []
    if auditor is not None and len(new) <= _FEW_NEW_SKILLS:
        auditor.audit_all(new, most=len(new))


def _risk(hub: SkillHub, skill: Skill) -> str:
    """Return the severity of the worst that the audit found, empty for nothing that an agent is told of."""
    findings = hub.audited(skill)
    worst = findings[0].severity.value if findings else ""
    return worst if worst in ("critical", "high") else ""


def _print_skills(
    chosen: Sequence[ListedSkill],
    counts: SkillCounts,
    risks: Mapping[str, str],
    states: Mapping[str, str],
    *,
    filtered: bool,
) -> None:
    """Print a table as wide as the terminal and the counts; elsewhere a line for each skill, complete."""
    screen, paint = stdout_screen(), painter(sys.stdout, os.environ)
    if screen is None:
        for one in chosen:
            told = _notes(one, risks[one.skill.directory], states)
            notes = paint(f"  ({told})", Colour.YELLOW) if told else ""
            description = paint(one_line(one.skill.description, width=None))
            print_painted(f"{paint(one.handle, Colour.BOLD)}  {description}{notes}")
        return
    if not chosen:
        return
    rows = [
        TableRow(
            (in_line(one.handle), one.source.value),
            one_line(one.skill.description, width=None),
            in_line(_notes(one, risks[one.skill.directory], states)),
        )
        for one in chosen
    ]
    for line in table_lines(("skill", "source", "description"), rows, screen.columns, paint):
        print_painted(line)
    print_text(f"\n{f'{len(chosen):,} of these: ' if filtered else ''}{counts.sentence()}")


def _note_elsewhere(elsewhere: Sequence[UnsearchedPlace]) -> None:
    """Say on stderr what is not searched, why, and which command serves it."""
    if elsewhere:
        print_note("")
    for problem in (one.as_problem() for one in elsewhere[:_SHOWN_PLACES]):
        print_note(f"{in_line(problem.subject)} {in_line(problem.message)}\n  → {in_line(problem.fix)}")
    more = len(elsewhere) - _SHOWN_PLACES
    if more > 0:
        print_note(f"{plural(more, 'more place')} with skills: `skillhub roots` lists them")


def _elsewhere_json(one: UnsearchedPlace) -> dict[str, object]:
    reason = one.reason
    return {
        "path": one.place.path,
        "skills": one.skills,
        "why": reason.why,
        "command": reason.command or None,
        "setting": reason.setting or None,
    }


def _absence(hub: SkillHub, args: argparse.Namespace) -> EmptyResult:
    source = Source(args.source) if args.source else None
    return hub.why_nothing(category=args.category, source=source, core=args.core, for_models=False)


def _matches(one: ListedSkill, args: argparse.Namespace) -> bool:
    return (
        (one.served or args.all)
        and (one.skill.is_pinned or not args.core)
        and (args.category is None or fold_name(one.skill.category or "") == fold_name(args.category))
        and (args.source is None or one.source.value == args.source)
    )


def _notes(one: ListedSkill, risk: str, states: Mapping[str, str]) -> str:
    notes = [
        _STANDINGS.get(one.standing, ""),
        f"audit: {risk}" if risk == "critical" else "",
        _LOCK_NOTES.get(states.get(one.skill.directory, ""), ""),
        "awaits trust" if one.skill.awaits_trust else "",
        f"shadowed by {one.shadowed_by.directory}" if one.shadowed_by is not None else "",
        "its skills directory is away" if one.is_away else "",
        "not for models" if one.skill.disable_model_invocation else "",
        "not user-invocable" if not one.skill.user_invocable else "",
    ]
    return ", ".join(note for note in notes if note)


def _skills_json(hub: SkillHub, chosen: Sequence[ListedSkill], risks: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield each skill as JSON values. Of a large library, its fields are read once and not kept."""
    skills, again = tee(one.skill for one in chosen)
    for one, skill, lock in zip(chosen, skills, hub.lock_standings(again), strict=True):
        yield _skill_json(one, skill, risks[skill.directory], lock)


def _skill_json(one: ListedSkill, skill: Skill, risk: str, lock: LockStanding | None) -> dict[str, object]:
    return {
        "name": skill.name,
        "handle": one.handle,
        "source": one.source.value,
        "description": skill.description,
        "category": skill.category,
        "tags": list(skill.tags),
        "always_apply": skill.always_apply,
        "disable_model_invocation": skill.disable_model_invocation,
        "user_invocable": skill.user_invocable,
        "state": one.standing.value,
        "trust": skill.trust.value,
        "audit": risk or None,
        "lock": None if lock is None else lock.told(),
        "path": skill.directory,
        "shadowed_by": None if one.shadowed_by is None else one.shadowed_by.directory,
        "diagnostics": [diagnostic.rule for diagnostic in skill.diagnostics],
    }
