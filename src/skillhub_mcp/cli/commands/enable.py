"""`skillhub enable` and `skillhub disable`: the user's choice of the skills that agents get."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from skillhub_mcp.cli.arguments import skill_argument
from skillhub_mcp.cli.console import print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.choices import Choices
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.names import fold_name, typed_command

if TYPE_CHECKING:
    from skillhub_mcp.policy.access import Policy


DESCRIPTION = "Choose which skills agents find and load. The choice is saved, and running servers apply it at once."


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="name, name@source or path of a skill")
    parser.add_argument("--project", action="store_true", help="in this project only")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Save the choice and say what agents get now. Raises SkillNotFound."""
    from skillhub_mcp.chosen_roots import choices_path, project_of
    from skillhub_mcp.policy.access import Availability
    from skillhub_mcp.policy.files import change_choices

    on = args.command == "enable"
    project = project_of(settings_of(options)).root if args.project else None
    with open_hub(options) as hub:
        # Every name is looked up before any choice is saved, so that a wrong name changes nothing.
        chosen = [_choice(hub, skill_argument(name)) for name in args.names]
        for one in [] if args.dry_run else chosen:
            change_choices(choices_path(), partial(_switched, one, on=on, project=project))
        snapshot, policy = hub.snapshot_and_policy()
    names = Names(snapshot, policy)
    answering = [_answering(names, policy, one.skill.name) for one in chosen]
    if args.json:
        rows = [
            {
                "name": one.skill.name,
                "path": one.skill.directory,
                "state": policy.availability(one.skill).value,
                "answers": None if now is None else now.directory,
            }
            for one, now in zip(chosen, answering, strict=True)
        ]
        print_json({"dry_run": args.dry_run, "skills": rows})
        return EXIT_OK
    if args.dry_run:
        for one in chosen:
            print_text(f"{in_line(one.skill.name)} would be {args.command}d")
        return EXIT_OK
    where = " in this project" if args.project else ""
    for one, now in zip(chosen, answering, strict=True):
        name, standing = in_line(one.skill.name), policy.availability(one.skill)
        print_text(f"{name} is {'enabled' if on else 'disabled'}{where}")
        if now is not None and one.others and now.directory != one.answered:
            print_note(f"{name} now loads {in_line(now.directory)} ({snapshot.source(now).value})")
        elif one.is_named and one.others and now is None and not on:
            handles = map(names.handle, (*snapshot.namesakes(one.skill), *one.others))
            other = next(handle for handle in handles if handle != one.skill.name)
            back = f"`{in_line(typed_command('skillhub enable', other))}` brings that one back"
            print_note(f"All {len(one.others) + 1} skills of that name are off: {back}")
        if (standing is Availability.OFF) is on:
            other = "with" if not args.project else "without"
            print_note(f"{name} is still {'disabled' if on else 'enabled'} here: run this again {other} --project")
        elif on and standing is not Availability.ON:
            of_project = standing in (Availability.DENIED, Availability.UNDECIDED) and policy.heeds_project(one.skill)
            more = ". What its project's rules say of it, this with --project overrides" if of_project else ""
            print_note(f"{name} is still not served: {standing.value}{more}")
    return EXIT_OK


@dataclass(frozen=True, slots=True)
class _Choice:
    """A skill to switch, its namesakes in order of priority, and the directory of who answered to its name before.

    One that `is_named` was given by its bare name, which is that of all of them.
    """

    skill: Skill
    others: tuple[Skill, ...]
    answered: str
    is_named: bool


def _choice(hub: SkillHub, typed: str) -> _Choice:
    """Return what a person typed. Raises SkillNotFound."""
    skill = _find(hub, typed)
    snapshot, policy = hub.snapshot_and_policy()
    before = _answering(Names(snapshot, policy), policy, skill.name)
    is_named = fold_name(typed) in (fold_name(skill.name), fold_name(skill.alias))
    return _Choice(skill, namesakes(hub, skill), "" if before is None else before.directory, is_named)


def _answering(names: Names, policy: Policy, name: str) -> Skill | None:
    """Return the skill that agents get for a name."""
    found = names.find(name)
    return found if found is not None and policy.offers(found) else None


def namesakes(hub: SkillHub, skill: Skill) -> tuple[Skill, ...]:
    """Return the other skills that go by a name of `skill`."""
    names = {fold_name(skill.name), fold_name(skill.alias)}
    return tuple(
        one.skill
        for one in hub.listed()
        if one.skill.directory != skill.directory and names & {fold_name(one.skill.name), fold_name(one.skill.alias)}
    )


def _switched(one: _Choice, choices: Choices, *, on: bool, project: str | None) -> Choices:
    skill = one.skill
    if not one.is_named:
        return switched_by_path(choices, skill, one.others, on=on, project=project)
    # A name applies to every skill with that name; a skill given by name@source or path is saved by path.
    directories = (skill.directory, *(other.directory for other in one.others))
    return choices.switched(skill.name, also=(skill.name, skill.alias, *directories), on=on, project=project)


def switched_by_path(
    choices: Choices, skill: Skill, others: Sequence[Skill], *, on: bool, project: str | None
) -> Choices:
    """Return the choices with `skill` on or off, and its namesakes, the `others`, as they were."""
    names = (skill.name, skill.alias)
    also = names if on and not others else ()
    return choices.switched(skill.directory, also=also, names=names, on=on, project=project)


def _find(hub: SkillHub, typed: str) -> Skill:
    """Return the skill with this name in any case, name@source or path. Raises SkillNotFound."""
    names = {one.skill.name for one in hub.listed() if fold_name(one.skill.name) == fold_name(typed)}
    return hub.find(names.pop() if len(names) == 1 else typed)
