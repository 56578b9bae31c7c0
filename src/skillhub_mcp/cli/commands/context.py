"""`skillhub context`: seed 000's view of the skills of a working directory, from a shell."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import add_actions, add_json_option, add_setting_options, as_text, whole_number
from skillhub_mcp.cli.output import EXIT_OK, one_line, print_json, say
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Listing


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "context",
        help="the project's and your own .agents/skills",
        description="The skills of .agents/skills, from the project's root to here, and of your home.",
    )
    actions = add_actions(parser)
    listing = actions.add_parser("list", help="list them, and what could not be read")
    listing.set_defaults(run=_list)
    finding = actions.add_parser("search", help="find some by path, name, beginning of a name, or words")
    finding.add_argument("query", nargs="+", metavar="WORD", help="a path, a name, or a few words")
    finding.add_argument("--limit", type=whole_number, metavar="N", help="hits at most")
    finding.add_argument("--scope", choices=("repo", "user"), help="only the project's, or only your own")
    finding.set_defaults(run=_search)
    loading = actions.add_parser("load", help="print one as an agent is given it")
    loading.add_argument("--name", metavar="NAME", help="the skill's name")
    loading.add_argument("--path", metavar="PATH", help="its SKILL.md or its directory; wins over the name")
    loading.set_defaults(run=_load)
    for action in (listing, finding, loading):
        add_json_option(action)
        add_setting_options(action)


def _list(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    _, listing = look(options)
    if args.json:
        print_json(
            {
                "skills": [skill.model_dump() for skill in listing.skills],
                "errors": [error.model_dump() for error in listing.errors],
            }
        )
        return EXIT_OK
    for skill in listing.skills:
        hidden = "  (not for models to choose)" if skill.path in listing.hidden else ""
        hidden += "  (off)" if skill.path in listing.disabled else ""
        say(f"{skill.scope}  {skill.name}  {one_line(skill.description, width=100)}{hidden}\n      {skill.path}")
    for error in listing.errors:
        say(f"error  {error.path}: {error.message}")
    if not listing.skills and not listing.errors:
        say("No skills. Put a folder with a SKILL.md into .agents/skills here, or into ~/.agents/skills.")
    return EXIT_OK


def _search(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.disclosure.context.tiered_search import SearchLimits, tiered_search

    settings, listing = look(options)
    found = tiered_search(
        listing.shown,
        as_text(" ".join(args.query)),
        cwd=listing.cwd,
        limits=SearchLimits(settings.disclosure.skill_search_limit, settings.disclosure.skill_search_max_limit),
        limit=args.limit,
        scope=args.scope,
    )
    if args.json:
        hits = [{**hit.skill.model_dump(), "reason": hit.reason, "score": round(hit.score, 4)} for hit in found.hits]
        print_json({"skills": hits, "count": found.count, "truncated": found.truncated})
        return EXIT_OK
    for hit in found.hits:
        say(f"{hit.score:.2f}  {hit.skill.name}  {hit.reason}, {hit.skill.scope}\n      {hit.skill.path}")
    more = found.count - len(found.hits)
    if more or not found.hits:
        say(f"{more:,} more" if more else f"No skill of {len(listing.shown):,} fits.")
    return EXIT_OK


def _load(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.bootstrap import make_access, make_observer
    from skillhub_mcp.disclosure.context.loader import load_skill_context, select_skill
    from skillhub_mcp.disclosure.context.schema import scope_source
    from skillhub_mcp.events import UseEvent, observe
    from skillhub_mcp.policy.tool_actions import Action

    settings, listing = look(options)
    asked_for = UseEvent(action="load", skill=args.path or args.name or "")
    with observe(make_observer(settings, serving=False), asked_for) as use:
        skill = select_skill(listing, name=args.name, path=args.path)
        use.skill, use.source, use.file_path = skill.name, scope_source(skill), skill.path
        make_access(settings, asks=False).now(listing.root).check(listing.by_path[skill.path], Action.LOAD)
        loaded = load_skill_context(skill)
    if args.json:
        facts = {"skill_id": skill.id, "name": skill.name, "path": skill.path, "dir": skill.dir}
        print_json({**facts, "mtime_ms": loaded.mtime_ms, "text": loaded.text})
    else:
        say(loaded.text)
    return EXIT_OK


def look(options: Mapping[str, str]) -> tuple[Settings, Listing]:
    """Return the settings and the skills that they lead to. Raises InvalidSetting where this is switched off."""
    from skillhub_mcp.bootstrap import make_access, make_catalogues

    settings, _ = read_settings(os.environ, options)
    if not settings.disclosure.skills_enabled:
        raise InvalidSetting("SKILLHUB_SKILLS_ENABLED", "0", "switches this off", hint="set it to 1")
    return settings, make_catalogues(settings, make_access(settings, asks=False)).listing()
