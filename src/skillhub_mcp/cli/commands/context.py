"""`skillhub context`: the agent-context tools on the command line, over `.agents/skills`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.cli.arguments import (
    Group,
    add_actions,
    add_json_option,
    add_setting_options,
    decode_argument,
    whole_number,
)
from skillhub_mcp.cli.output import EXIT_OK, one_line, print_json, print_text
from skillhub_mcp.cli.replica_note import note_publication
from skillhub_mcp.cli.screen import room_beside
from skillhub_mcp.cli.told_settings import told_settings
from skillhub_mcp.errors import InvalidArgument, InvalidSetting
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import Settings

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Listing


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "context",
        group=Group.FIND,
        help="list, search and load the skills of .agents/skills",
        description="List, search and load the skills of .agents/skills, from the project's root to the working "
        "directory and in your home directory.",
    )
    actions = add_actions(parser)
    listing = actions.add_parser("list", help="list the skills and the files that could not be read")
    listing.set_defaults(run=_list)
    finding = actions.add_parser("search", help="search by path, name, prefix or words")
    finding.add_argument("query", nargs="+", metavar="WORD", help="path, name, or words of the task")
    finding.add_argument("--limit", type=whole_number, metavar="N", help="maximum number of hits")
    finding.add_argument(
        "--scope", choices=("repo", "user"), help="only the project's skills (repo) or your own (user)"
    )
    finding.set_defaults(run=_search)
    loading = actions.add_parser("load", help="print a skill as an agent receives it")
    loading.add_argument("--name", metavar="NAME", help="name of the skill")
    loading.add_argument("--path", metavar="PATH", help="its SKILL.md or directory; takes precedence over --name")
    loading.set_defaults(run=_load)
    for action in (listing, finding, loading):
        add_json_option(action)
        add_setting_options(action)


def _list(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    listing = load_listing(_told(options))
    if args.json:
        print_json(
            {
                "skills": [skill.model_dump() for skill in listing.skills],
                "errors": [error.model_dump() for error in listing.errors],
            }
        )
        return EXIT_OK
    for skill in listing.skills:
        notes = "  (not for models)" if skill.path in listing.hidden else ""
        notes += "  (off)" if skill.path in listing.disabled else ""
        head = f"{skill.scope}  {in_line(skill.name)}{notes}  "
        print_text(f"{head}{one_line(skill.description, width=room_beside(head))}\n      {in_line(skill.path)}")
    for error in listing.errors:
        print_text(f"error  {in_line(error.path)}: {in_line(error.message)}")
    if not listing.skills and not listing.errors:
        print_text("No skills found. Add a directory with a SKILL.md to .agents/skills here, or to ~/.agents/skills.")
    return EXIT_OK


def _search(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.disclosure.context.tiered_search import SearchLimits, tiered_search

    settings = _told(options)
    listing = load_listing(settings)
    found = tiered_search(
        listing.shown,
        decode_argument(" ".join(args.query)),
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
        skill = hit.skill
        print_text(f"{hit.score:.2f}  {in_line(skill.name)}  {hit.reason}, {skill.scope}\n      {in_line(skill.path)}")
    more = found.count - len(found.hits)
    if more or not found.hits:
        print_text(f"{more:,} more" if more else f"No matching skills (searched {len(listing.shown):,}).")
    return EXIT_OK


def _load(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    from skillhub_mcp.bootstrap.observers import make_observer
    from skillhub_mcp.bootstrap.policy import make_access
    from skillhub_mcp.disclosure.context.loader import load_skill_context, select_skill
    from skillhub_mcp.disclosure.context.schema import scope_source
    from skillhub_mcp.events import UseEvent, observe
    from skillhub_mcp.policy.tool_actions import Action

    if not (args.name or args.path or "").strip():
        raise InvalidArgument("--name", "or --path is required", hint="`skillhub context list` has the skills")
    settings = _told(options)
    listing = load_listing(settings)
    event = UseEvent(action="load", skill=args.path or args.name or "")
    with observe(make_observer(settings, serving=False), event) as use:
        skill = select_skill(listing, name=args.name, path=args.path, search_tool="`skillhub context search`")
        use.skill, use.source, use.file_path = skill.name, scope_source(skill), skill.path
        make_access(settings, asks=False).now(listing.root).check(listing.by_path[skill.path], Action.LOAD)
        loaded = load_skill_context(skill)
    if args.json:
        facts = {"skill_id": skill.id, "name": skill.name, "path": skill.path, "dir": skill.dir}
        print_json({**facts, "mtime_ms": loaded.mtime_ms, "text": loaded.text})
    else:
        print_text(loaded.text)
    return EXIT_OK


def _told(options: Mapping[str, str]) -> Settings:
    settings = told_settings(options)
    note_publication(settings)
    return settings


def load_listing(settings: Settings) -> Listing:
    """Return the skills of the working directory. Raises InvalidSetting if they are disabled."""
    from skillhub_mcp.bootstrap.library import make_catalogues
    from skillhub_mcp.bootstrap.policy import make_access

    if not settings.disclosure.skills_enabled:
        raise InvalidSetting("SKILLHUB_SKILLS_ENABLED", "0", "disables this command", hint="set it to 1")
    return make_catalogues(settings, make_access(settings, asks=False)).listing()
