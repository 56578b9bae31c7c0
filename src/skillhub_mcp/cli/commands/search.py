"""`skillhub search`: what an agent would find."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, as_text, whole_number
from skillhub_mcp.cli.hubs import open_hub
from skillhub_mcp.cli.output import EXIT_OK, NO_SKILLS, one_line, print_json, say
from skillhub_mcp.skills.roots import SOURCES, Source


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser("search", help="find skills for a task", description="Find skills for a task.")
    parser.add_argument("query", nargs="+", metavar="WORD", help="the task, in a few words")
    parser.add_argument("--limit", type=whole_number, metavar="N", help="hits at most (default: SEARCH_LIMIT)")
    parser.add_argument("--category", metavar="NAME", help="only skills of this category")
    parser.add_argument("--source", choices=SOURCES, help="only skills of this source, also shadowed ones")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Search and print the hits, best first. No hit is an answer too: exit code 0."""
    source = Source(args.source) if args.source else None
    with open_hub(options) as hub:
        answer = hub.search(as_text(" ".join(args.query)), limit=args.limit, category=args.category, source=source)
    if args.json:
        hits = [
            {
                "name": hit.handle,
                "description": hit.skill.description,
                "score": round(hit.score, 4),
                "category": hit.skill.category,
                "reason": hit.reason.value,
                "path": hit.skill.directory,
            }
            for hit in answer.hits
        ]
        print_json({"skills": hits, "searched": answer.searched})
    elif not answer.hits:
        say(f"No skill of {answer.searched:,} fits." if answer.searched else NO_SKILLS)
    for hit in () if args.json else answer.hits:
        category = f"  [{hit.skill.category}]" if hit.skill.category else ""
        say(f"{hit.score:.2f}  {hit.handle}{category}\n      {one_line(hit.skill.description)}")
    return EXIT_OK
