"""`skillhub list`: the skills that are served."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.hubs import open_hub
from skillhub_mcp.cli.output import EXIT_OK, NO_SKILLS, one_line, print_json, say


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser("list", help="list the skills", description="List the skills that are served.")
    parser.add_argument("--core", action="store_true", help="only Core Skills: those with alwaysApply")
    parser.add_argument("--category", metavar="NAME", help="only skills of this category")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the skills by name."""
    with open_hub(options) as hub:
        served = hub.skills()
        skills = [
            skill
            for skill in served
            if (skill.always_apply or not args.core)
            and (args.category is None or skill.category == args.category.strip().lower())
        ]
    if args.json:
        print_json(
            {
                "skills": [
                    {
                        "name": skill.name,
                        "description": skill.description,
                        "category": skill.category,
                        "tags": list(skill.tags),
                        "always_apply": skill.always_apply,
                        "path": skill.directory,
                        "diagnostics": [diagnostic.rule for diagnostic in skill.diagnostics],
                    }
                    for skill in skills
                ]
            }
        )
        return EXIT_OK
    for skill in skills:
        say(f"{skill.name}  {one_line(skill.description, width=100)}")
    if not skills:
        say(f"No skill of {len(served):,} fits." if served else NO_SKILLS)
    return EXIT_OK
