"""`skillhub enable` and `skillhub disable`: the user's choice of the skills that agents get."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import skill_argument
from skillhub_mcp.cli.console import print_line, print_note
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.policy.choices import Choices
from skillhub_mcp.policy.files import CHOICES
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name
from skillhub_mcp.skills.selectors import is_selector, selects, terms_of
from skillhub_mcp.skills.snapshot import Snapshot


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="name, name@source, path, glob or group")
    parser.add_argument("--project", action="store_true", help="in this project only")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Choose which skills agents find and load. The choice is saved, and running servers apply it at once."""
    on = args.command == "enable"
    project = project_of(settings_of(options)).root if args.project else None
    with open_hub(options) as hub:
        # Every name is looked up before any choice is saved, so that a wrong name changes nothing.
        chosen = [_choice(hub, name) for typed in args.names for name in _expanded(hub, skill_argument(typed))]
        for one in [] if args.dry_run else chosen:
            CHOICES.change(CHOICES.path, partial(_switched, one, on=on, project=project))
        snapshot, policy = hub.snapshot_and_policy()
    where = " in this project" if args.project else ""
    rows = []
    for one in chosen:
        now, standing = _answering(snapshot, policy, one.skill.name), policy.availability(one.skill)
        answers = None if now is None else now.directory
        name = one.skill.name
        rows.append({"name": name, "path": one.skill.directory, "state": standing.value, "answers": answers})
        if args.json:
            continue
        print_line(f"{name} {'would be' if args.dry_run else 'is'} {args.command}d{where}")
        if args.dry_run:
            continue
        if now is not None and one.others and answers != one.answered:
            print_note(f"{name} now loads {now.directory} ({snapshot.source(now).value})")
        if (standing is Availability.OFF) is on:
            other = "with" if not args.project else "without"
            print_note(f"{name} is still {'disabled' if on else 'enabled'} here: run this again {other} --project")
        elif on and standing is not Availability.ON:
            print_note(f"{name} is still not served: {standing.value}")
    return print_json({"dry_run": args.dry_run, "skills": rows}) if args.json else EXIT_OK


@dataclass(frozen=True, slots=True)
class _Choice:
    """A skill to switch, its namesakes, and the directory of the skill that had its name before.

    One that `is_named` was given by its bare name, which is that of all of them.
    """

    skill: Skill
    others: tuple[Skill, ...]
    answered: str
    is_named: bool


def _expanded(hub: SkillHub, typed: str) -> Sequence[str]:
    """Return the names of the skills that a glob or a group selects now; a name alone. Raises SkillNotFound."""
    if not is_selector(typed):
        return (typed,)
    found = {one.skill.name for one in hub.listed() if selects(typed, terms_of(one.skill))}
    if not found:
        raise SkillNotFound(typed, hint="`skillhub list` shows the skills with their categories and sources")
    return sorted(found)


def _choice(hub: SkillHub, typed: str) -> _Choice:
    """Return what a person typed: a name in any case, name@source or a path. Raises SkillNotFound."""
    spelt = {one.skill.name for one in hub.listed() if fold_name(one.skill.name) == fold_name(typed)}
    skill = hub.find(spelt.pop() if len(spelt) == 1 else typed)
    before = _answering(*hub.snapshot_and_policy(), skill.name)
    others = tuple(
        one.skill
        for one in hub.listed()
        if one.skill.directory != skill.directory and _folded(skill) & _folded(one.skill)
    )
    return _Choice(skill, others, "" if before is None else before.directory, fold_name(typed) in _folded(skill))


def _folded(skill: Skill) -> set[str]:
    return {fold_name(skill.name), fold_name(skill.alias)}


def _answering(snapshot: Snapshot, policy: Policy, name: str) -> Skill | None:
    """Return the skill that agents get for a name."""
    found = Names(snapshot, policy).find(name)
    return found if found is not None and policy.offers(found) else None


def _switched(one: _Choice, choices: Choices, *, on: bool, project: str | None) -> Choices:
    skill, names = one.skill, (one.skill.name, one.skill.alias)
    if one.is_named:
        # A name applies to every skill with that name; a skill given by name@source or path is saved by path.
        directories = (skill.directory, *(other.directory for other in one.others))
        return choices.switched(skill.name, also=(*names, *directories), on=on, project=project)
    also = names if on and not one.others else ()
    return choices.switched(skill.directory, also=also, names=names, on=on, project=project)
