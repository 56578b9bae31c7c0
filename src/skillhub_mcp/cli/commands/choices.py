"""`skillhub enable` and `skillhub disable`: which skills agents get, as a person chooses (seed 000, picker)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, as_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.model import Skill


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    for verb, on, what in (
        ("disable", False, "switch skills off: no agent finds or loads them"),
        ("enable", True, "switch skills on again"),
    ):
        parser = verbs.add_parser(
            verb,
            help=what,
            description=f"{what[0].upper()}{what[1:]}. It is kept, and running servers heed it at once.",
        )
        parser.add_argument("names", nargs="+", metavar="NAME", help="a skill's name, name@source, or path")
        parser.add_argument("--project", action="store_true", help="in this project only, whatever holds elsewhere")
        add_json_option(parser)
        add_setting_options(parser)
        parser.set_defaults(run=partial(_switch, on))


def _switch(on: bool, args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.bootstrap import project_of
    from skillhub_mcp.policy.access import Availability
    from skillhub_mcp.policy.files import change_choices

    settings, _ = read_settings(os.environ, options)
    project = project_of(settings).root if args.project else None
    with open_hub(options) as hub:
        # Every name is looked up before any is switched: a slip in the third leaves the first two as they were.
        skills = [(as_text(name), _known(hub, as_text(name))) for name in args.names]
        for typed, skill in skills:
            # A name means every skill of that name; what can only be told apart by its place is kept by its place.
            named = typed.casefold() in (skill.name.casefold(), skill.alias.casefold())
            key = skill.name if named else skill.directory
            also = (skill.name, skill.alias, skill.directory) if named or on else (skill.directory,)
            change_choices(
                settings.policy.choices,
                lambda choices, key=key, also=also: choices.switched(key, also=also, on=on, project=project),  # type: ignore[misc]  # mypy infers no lambda with defaults
            )
        policy = hub.access.now()
        outcomes = [(skill, policy.availability(skill)) for _, skill in skills]
    if args.json:
        print_json(
            {"skills": [{"name": skill.name, "path": skill.directory, "state": s.value} for skill, s in outcomes]}
        )
        return EXIT_OK
    where = " in this project" if args.project else ""
    for skill, standing in outcomes:
        say(f"{skill.name} is switched {'on' if on else 'off'}{where}")
        if (standing is Availability.OFF) is on:
            other = "with" if not args.project else "without"
            note(f"{skill.name} is still {'off' if on else 'on'} here: choose again {other} --project")
        elif on and standing is not Availability.ON:
            note(f"{skill.name} is still not served: it is {standing.value}")
    return EXIT_OK


def _known(hub: SkillHub, typed: str) -> Skill:
    """Return the skill that was typed, in whatever case its name was. Raises SkillNotFound."""
    names = {one.skill.name for one in hub.listed() if one.skill.name.casefold() == typed.casefold()}
    return hub.known(names.pop() if len(names) == 1 else typed)
