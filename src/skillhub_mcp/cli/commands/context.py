"""`skillhub context`: what a model is given: the list of skills and its cost, and the skills that a text mentions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict

from skillhub_mcp._util.wording import plural
from skillhub_mcp.bootstrap.library import make_access, make_catalogues
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.arguments import Parser, add_action, add_actions, decode_argument, whole_number
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.open_hub import open_hub, settings_with_notes
from skillhub_mcp.cli.output import EXIT_OK, print_empty_result, print_json
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, CatalogueEntry, Rendered, estimate_tokens, fit
from skillhub_mcp.disclosure.context.catalogue import context_entries
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings, settings_of

_CODELIA = "codelia"
_WHY = {"unknown": "is not a known skill", "ambiguous": "is the name of several skills", "off": "is disabled or denied"}


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    actions = add_actions(parser, required=True)
    catalogue = add_action(actions, "catalogue", _catalogue, "print the list of skills that a model is given")
    catalogue.add_argument(
        "--format", choices=tuple(FORMATS), default="specification", help="form of the list (default: %(default)s)"
    )
    catalogue.add_argument("--max-tokens", type=whole_number, metavar="N", help="maximum tokens, estimated")
    resolve = add_action(actions, "resolve", _resolve, "print the skills that a text mentions as $name or by path")
    resolve.add_argument("text", metavar="TEXT", help="text in quotes, or - for standard input")
    add_action(actions, "cost", _cost, "print what each form of the list costs in estimated tokens")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the list of skills that a model is given, the skills that a text mentions, or what the list costs."""
    raise AssertionError(args, options)


def _catalogue(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_with_notes(options)
    disclosure = settings.disclosure
    # A budget in tokens replaces the setting's in bytes.
    max_bytes = None if args.max_tokens is not None else disclosure.catalogue_max_bytes
    budget = Budget(max_entries=disclosure.catalogue_max_entries, max_bytes=max_bytes, max_tokens=args.max_tokens)
    if args.format == _CODELIA:
        rendered = _agent_context(settings, budget, notes=True)
    else:
        with open_hub(options) as hub:
            rendered = fit(_entries(hub), budget, FORMATS[args.format])
    if args.json:
        size = {"truncated": rendered.catalogue.truncated, "bytes": len(rendered.text.encode())}
        return print_json({"format": args.format, "text": rendered.text, **size, **_facts(rendered)})
    if rendered.text:
        print_text(rendered.text)
    elif rendered.catalogue.left_out:
        print_note(f"The budget is too small to list any of {rendered.catalogue.left_out:,} skills")
    return EXIT_OK


def _facts(rendered: Rendered) -> dict[str, int]:
    fitted = rendered.catalogue
    return {
        "skills": len(fitted.entries) if rendered.text else 0,
        "shortened": fitted.shortened,
        "left_out": fitted.left_out,
        "tokens": estimate_tokens(rendered.text),
    }


def _agent_context(settings: Settings, budget: Budget, *, notes: bool = False) -> Rendered:
    """Return the catalogue of the agent-context tools, which see `.agents/skills` alone. Raises InvalidSetting."""
    if not settings.disclosure.skills_enabled:
        raise InvalidSetting("SKILLHUB_SKILLS_ENABLED", "0", "disables this command", hint="set it to 1")
    listing = make_catalogues(settings, make_access(settings, asks=False)).listing()
    if notes:
        _note_awaiting(len(listing.shown) - len(listing.initial))
    return fit(context_entries(listing), budget, FORMATS[_CODELIA], search_tool="skill_search", load_tool="skill_load")


def _entries(hub: SkillHub) -> tuple[CatalogueEntry, ...]:
    """Return the entries of the hub's catalogue, with a note about what awaits trust or why there are none."""
    entries = hub.catalogue()
    snapshot, policy = hub.snapshot_and_policy()
    awaiting = sum(policy.offers(skill) for skill in snapshot.everything if skill.awaits_trust)
    _note_awaiting(awaiting)
    if not (entries or awaiting):
        print_empty_result(hub.why_nothing(), to_stderr=True)
    return entries


def _note_awaiting(count: int) -> None:
    if count:
        print_note(f"Not listed: {plural(count, 'skill')} of a project that awaits trust (`skillhub trust`)")


def _resolve(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    text = sys.stdin.read() if args.text == "-" else decode_argument(args.text)
    with open_hub(options) as hub:
        resolution = hub.resolve(text, cwd=project_of(settings).cwd)
    if args.json:
        skills = [{"name": one.name, "handle": one.handle, "path": one.directory} for one in resolution.skills]
        return print_json({"skills": skills, "unresolved": [asdict(one) for one in resolution.unresolved]})
    for skill in resolution.skills:
        print_line(f"{skill.handle}  {skill.directory}")
    for one in resolution.unresolved:
        among = f": {', '.join(one.candidates)}" if one.candidates else ""
        print_note(f"{one.mention} {_WHY[one.why]}{among}")
    return EXIT_OK


def _cost(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_with_notes(options)
    disclosure = settings.disclosure
    budget = Budget(max_entries=disclosure.catalogue_max_entries, max_bytes=disclosure.catalogue_max_bytes)
    with open_hub(options) as hub:
        entries = _entries(hub)
    catalogues = {}
    for name, render in FORMATS.items():
        if name != _CODELIA:
            rendered = fit(entries, budget, render)
        elif disclosure.skills_enabled and not settings.replica.read_only:
            rendered = _agent_context(settings, budget)
        else:
            continue
        catalogues[name] = _facts(rendered)
    if args.json:
        return print_json({"skills": len(entries), "catalogue": catalogues})
    print_text(f"{plural(len(entries), 'skill')}; estimated cost of a catalogue:")
    for name, cost in catalogues.items():
        missing = f" ({cost['left_out']:,} left out, {cost['shortened']:,} shortened)"
        fewer = f", of {plural(cost['skills'], 'skill')} in .agents/skills" if name == _CODELIA else ""
        print_text(
            f"{cost['tokens']:>8,} tokens  as {name}{fewer}{missing if cost['left_out'] or cost['shortened'] else ''}"
        )
    return EXIT_OK
