"""`skillhub search`: what an agent would find."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, as_text, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, NO_SKILLS, one_line, print_json, say
from skillhub_mcp.hub import SearchAnswer
from skillhub_mcp.skills.roots import SOURCES, Source


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser("search", help="find skills for a task", description="Find skills for a task.")
    parser.add_argument("query", nargs="*", metavar="WORD", help="the task, in a few words; none lists what there is")
    parser.add_argument("--limit", type=whole_number, metavar="N", help="hits at most (default: SEARCH_LIMIT)")
    parser.add_argument("--category", metavar="NAME", help="only skills of this category")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="only skills with this tag; repeatable"
    )
    parser.add_argument("--explain", action="store_true", help="say what each hit was found by")
    parser.add_argument("--source", choices=SOURCES, help="only skills of this source, also shadowed ones")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Search and print the hits, best first. No hit is an answer too: exit code 0."""
    source = Source(args.source) if args.source else None
    with open_hub(options) as hub:
        answer = hub.search(
            as_text(" ".join(args.query)),
            limit=args.limit,
            category=args.category,
            tags=args.tag,
            source=source,
            explain=args.explain,
        )
    if args.json:
        print_json(_as_json(answer))
    else:
        _tell(answer)
    return EXIT_OK


def _as_json(answer: SearchAnswer) -> dict[str, object]:
    hits = [
        {
            "name": hit.handle,
            "description": hit.skill.description,
            "score": round(hit.score, 4),
            "category": hit.skill.category,
            "reason": None if hit.reason is None else hit.reason.value,
            "matched": list(hit.matched),
            "path": hit.skill.directory,
            "copies": list(hit.copies),
            "explanation": [part.describe() for part in hit.contributions],
        }
        for hit in answer.hits
    ]
    facets = None if answer.facets is None else asdict(answer.facets)
    return {
        "skills": hits,
        "confident": answer.confident,
        "searched": answer.searched,
        "considered": answer.considered,
        "facets": facets,
    }


def _tell(answer: SearchAnswer) -> None:
    if not answer.hits:
        say(f"No skill of {answer.searched:,} fits." if answer.served else NO_SKILLS)
    elif not answer.confident:
        say(f"No skill of {answer.searched:,} fits well. The nearest:")
    for hit in answer.hits:
        category = f"  [{hit.skill.category}]" if hit.skill.category else ""
        score = f"{hit.score:.2f}  " if hit.reason is not None else ""
        say(f"{score}{hit.handle}{category}\n      {one_line(hit.skill.description)}")
        for copy in hit.copies:
            say(f"      also as {copy}")
        for part in hit.contributions:
            say(f"      {one_line(part.describe())}")
    if answer.facets is not None:
        for name, counts in asdict(answer.facets).items():
            if counts:
                say(f"{name}: " + ", ".join(f"{value} ({count})" for value, count in counts.items()))
    elif any(hit.contributions for hit in answer.hits):
        say(f"{answer.considered:,} of {answer.searched:,} skills had some of the words; {answer.served:,} are served.")
