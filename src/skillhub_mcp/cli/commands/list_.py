"""`skillhub list`: the skills that are served, and those that lost their name to another."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, NO_SKILLS, one_line, print_json, say
from skillhub_mcp.hub import ListedSkill
from skillhub_mcp.policy.access import Availability
from skillhub_mcp.skills.roots import SOURCES


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser("list", help="list the skills", description="List the skills that are served.")
    parser.add_argument("--all", action="store_true", help="also skills that are switched off or denied")
    parser.add_argument("--core", action="store_true", help="only Core Skills: those with alwaysApply")
    parser.add_argument("--category", metavar="NAME", help="only skills of this category")
    parser.add_argument("--source", choices=SOURCES, help="only skills of this source")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the skills by name."""
    with open_hub(options) as hub:
        listed = hub.listed()
    chosen = [one for one in listed if _wanted(one, args)]
    if args.json:
        print_json({"skills": [_facts(one) for one in chosen]})
        return EXIT_OK
    for one in chosen:
        say(f"{one.handle}  {one_line(one.skill.description, width=100)}{_notes(one)}")
    if not chosen:
        served = sum(one.shadowed_by is None for one in listed)
        say(f"No skill of {served:,} fits." if served else NO_SKILLS)
    return EXIT_OK


def _wanted(one: ListedSkill, args: argparse.Namespace) -> bool:
    return (
        (one.served or args.all)
        and (one.skill.always_apply or not args.core)
        and (args.category is None or one.skill.category == args.category.strip().lower())
        and (args.source is None or one.source.value == args.source)
    )


def _notes(one: ListedSkill) -> str:
    notes = [
        {Availability.OFF: "switched off", Availability.DENIED: "denied by a rule"}.get(one.standing, ""),
        f"shadowed by {one.shadowed_by.directory}" if one.shadowed_by is not None else "",
        "not for models to choose" if one.skill.disable_model_invocation else "",
        "not for people to call" if not one.skill.user_invocable else "",
    ]
    said = ", ".join(note for note in notes if note)
    return f"  ({said})" if said else ""


def _facts(one: ListedSkill) -> dict[str, object]:
    skill = one.skill
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
        "path": skill.directory,
        "shadowed_by": None if one.shadowed_by is None else one.shadowed_by.directory,
        "diagnostics": [diagnostic.rule for diagnostic in skill.diagnostics],
    }
