"""`skillhub enable` and `skillhub disable`: the user's choice of the skills that agents get."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.choices import Choices
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.names import fold_name


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    for verb, on, what in (
        ("disable", False, "disable skills, so that agents neither find nor load them"),
        ("enable", True, "enable disabled skills"),
    ):
        parser = subparsers.add_parser(
            verb,
            group=Group.CONTROL,
            everyday=True,
            help=what,
            description=f"{what[0].upper()}{what[1:]}. The choice is saved, and running servers apply it at once.",
        )
        parser.add_argument("names", nargs="+", metavar="NAME", help="name, name@source or path of a skill")
        parser.add_argument("--project", action="store_true", help="in this project only")
        add_json_option(parser)
        add_setting_options(parser)
        parser.set_defaults(run=partial(_switch, on))


def _switch(on: bool, args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.chosen_roots import project_of
    from skillhub_mcp.policy.access import Availability
    from skillhub_mcp.policy.files import change_choices

    settings, _ = read_settings(os.environ, options)
    project = project_of(settings).root if args.project else None
    with open_hub(options) as hub:
        # Every name is looked up before any choice is saved, so that a wrong name changes nothing.
        skills = [(decode_argument(name), _find(hub, decode_argument(name))) for name in args.names]
        for typed, skill in skills:
            # A name applies to every skill with that name; a skill given by name@source or path is saved by path.
            named = fold_name(typed) in (fold_name(skill.name), fold_name(skill.alias))
            change = partial(_switched, skill, namesakes(hub, skill), named=named, on=on, project=project)
            change_choices(settings.policy.choices, change)
        policy = hub.access.now()
        outcomes = [(skill, policy.availability(skill)) for _, skill in skills]
    if args.json:
        print_json(
            {"skills": [{"name": skill.name, "path": skill.directory, "state": s.value} for skill, s in outcomes]}
        )
        return EXIT_OK
    where = " in this project" if args.project else ""
    for skill, standing in outcomes:
        print_text(f"{skill.name} is {'enabled' if on else 'disabled'}{where}")
        if (standing is Availability.OFF) is on:
            other = "with" if not args.project else "without"
            print_note(
                f"{skill.name} is still {'disabled' if on else 'enabled'} here: run this again {other} --project"
            )
        elif on and standing is not Availability.ON:
            print_note(f"{skill.name} is still not served: {standing.value}")
    return EXIT_OK


def namesakes(hub: SkillHub, skill: Skill) -> tuple[Skill, ...]:
    """Return the other skills that go by a name of `skill`."""
    names = {fold_name(skill.name), fold_name(skill.alias)}
    return tuple(
        one.skill
        for one in hub.listed()
        if one.skill.directory != skill.directory and names & {fold_name(one.skill.name), fold_name(one.skill.alias)}
    )


def _switched(
    skill: Skill, others: Sequence[Skill], choices: Choices, *, named: bool, on: bool, project: str | None
) -> Choices:
    names = (skill.name, skill.alias)
    if named:
        directories = (skill.directory, *(other.directory for other in others))
        return choices.switched(skill.name, also=(*names, *directories), on=on, project=project)
    return switched_by_path(choices, skill, others, on=on, project=project)


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
