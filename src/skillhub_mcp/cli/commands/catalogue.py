"""`skillhub catalogue`: the list of skills given to a model, within a budget."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, note_empty_result, plural, print_json, print_note, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.replica_note import note_publication
from skillhub_mcp.cli.told_settings import told_settings
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, CatalogueEntry, Rendered, fit
from skillhub_mcp.disclosure.token_estimate import estimate_tokens
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings

CODELIA = "codelia"
"""The format of the agent-context tools, and of the skills that these see."""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "catalogue",
        group=Group.FIND,
        help="print the list of skills that a model is given",
        description="Print the list of all skills that a model is given at the start of its context. To fit a budget, "
        "descriptions are shortened first, then skills are left out.",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        default="specification",
        help="specification: <available_skills>; codelia: <skills_context>, .agents/skills only; registry: lines of "
        "name, source and description; descriptions: '- name: description' (default: %(default)s)",
    )
    parser.add_argument("--max-entries", type=whole_number, metavar="N", help="maximum number of skills")
    parser.add_argument("--max-bytes", type=whole_number, metavar="N", help="maximum bytes of UTF-8")
    parser.add_argument("--max-tokens", type=whole_number, metavar="N", help="maximum tokens, estimated")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the catalogue; with --json, also its cost and what was left out."""
    for option in ("max_entries", "max_bytes", "max_tokens"):
        if getattr(args, option) is not None and getattr(args, option) < 1:
            raise InvalidArgument(f"--{option.replace('_', '-')}", "must be at least 1")
    settings = told_settings(options)
    if args.format == CODELIA:
        note_publication(settings)
    budget = _budget(args, settings.disclosure.catalogue_max_entries, settings.disclosure.catalogue_max_bytes)
    if args.format == CODELIA:
        rendered = context_catalogue(settings, budget, notes=True)
    else:
        rendered = _served(args.format, options, budget)
    fitted = rendered.catalogue
    if args.json:
        print_json(
            {
                "format": args.format,
                "text": rendered.text,
                "skills": len(fitted.entries) if rendered.text else 0,
                "truncated": fitted.truncated,
                "shortened": fitted.shortened,
                "left_out": fitted.left_out,
                "bytes": len(rendered.text.encode()),
                "tokens": estimate_tokens(rendered.text),
            }
        )
        return EXIT_OK
    if rendered.text:
        print_text(rendered.text)
    elif fitted.left_out:
        print_note(f"The budget is too small to list any of {fitted.left_out:,} skills")
    return EXIT_OK


def context_catalogue(settings: Settings, budget: Budget, *, notes: bool = False) -> Rendered:
    """Return the catalogue of the agent-context tools, which see `.agents/skills` alone. Raises InvalidSetting.

    With `notes`, a note says what awaits trust.
    """
    from skillhub_mcp.cli.commands.context import load_listing
    from skillhub_mcp.disclosure.context.catalogue import context_entries

    listing = load_listing(settings)
    if notes:
        _note_awaiting(len(listing.shown) - len(listing.initial))
    return fit(context_entries(listing), budget, FORMATS[CODELIA], search_tool="skill_search", load_tool="skill_load")


def catalogue_entries(hub: SkillHub) -> tuple[CatalogueEntry, ...]:
    """Return the entries of the hub's catalogue, with a note about what awaits trust or why there are none."""
    entries = hub.catalogue()
    snapshot, policy = hub.snapshot_and_policy()
    awaiting = sum(policy.offers(skill) for skill in snapshot.everything if skill.awaits_trust)
    _note_awaiting(awaiting)
    if not (entries or awaiting):
        note_empty_result(hub.why_nothing())
    return entries


def _note_awaiting(count: int) -> None:
    if count:
        print_note(f"Not listed: {plural(count, 'skill')} of a project that awaits trust (`skillhub trust`)")


def _served(chosen: str, options: Mapping[str, str], budget: Budget) -> Rendered:
    with open_hub(options) as hub:
        entries = catalogue_entries(hub)
    return fit(entries, budget, FORMATS[chosen])


def _budget(args: argparse.Namespace, max_entries: int, max_bytes: int) -> Budget:
    # A budget in tokens replaces the setting's in bytes.
    usual_bytes = None if args.max_tokens is not None else max_bytes
    return Budget(
        max_entries=args.max_entries or max_entries,
        max_bytes=args.max_bytes or usual_bytes,
        max_tokens=args.max_tokens,
    )
