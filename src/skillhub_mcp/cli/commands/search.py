"""`skillhub search`: search for skills as agents do."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, decode_argument, whole_number
from skillhub_mcp.cli.colours import Colour, painter
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_FAILED,
    EXIT_OK,
    one_line,
    print_empty_result,
    print_json,
    print_painted,
    print_text,
    problems_json,
)
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.screen import stdout_screen
from skillhub_mcp.disclosure.hits import two_digits
from skillhub_mcp.hub import SearchAnswer
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.search.hits import FITS
from skillhub_mcp.skills.roots import SOURCES, Source

_INDENT = " " * 6


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "search",
        group=Group.FIND,
        everyday=True,
        help="find the skills that fit a task",
        description="Search for skills that fit a task.",
    )
    parser.add_argument("query", nargs="*", metavar="WORD", help="words of the task; without any, list the skills")
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", help="maximum number of hits (default: SEARCH_LIMIT)"
    )
    parser.add_argument("--category", metavar="NAME", help="only this category")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="only skills with this tag; repeatable"
    )
    parser.add_argument("--explain", action="store_true", help="show why each hit matched")
    parser.add_argument("--source", choices=SOURCES, help="only this source, including shadowed skills")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Search and print the hits, best first. To find nothing is a failure only where something is to be corrected."""
    source = Source(args.source) if args.source else None
    with open_hub(options) as hub:
        answer = hub.search(
            decode_argument(" ".join(args.query)),
            limit=args.limit,
            category=args.category,
            tags=args.tag,
            source=source,
            # As JSON the words that matched are told in any case.
            explain=args.explain or args.json,
        )
        absence = None
        if not answer.searched:
            absence = hub.why_nothing(category=args.category, tags=args.tag, source=source)
    if args.json:
        problems = {} if absence is None else {"problems": problems_json(absence.causes)}
        print_json(_answer_json(answer, explained=args.explain) | problems)
    elif absence is not None:
        print_empty_result(absence)
    else:
        _print_hits(answer)
    return EXIT_FAILED if absence is not None and absence.mistake else EXIT_OK


def _answer_json(answer: SearchAnswer, *, explained: bool) -> dict[str, object]:
    hits = [
        {
            "name": hit.handle,
            "description": hit.skill.description,
            "score": round(hit.score, 4),
            "category": hit.skill.category,
            "trust": hit.skill.trust.value,
            "reason": None if hit.reason is None else hit.reason.value,
            "matched": list(hit.matched),
            "path": hit.skill.directory,
            "copies": list(hit.copies),
            "explanation": [part.describe() for part in hit.contributions if explained],
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


def _print_hits(answer: SearchAnswer) -> None:
    screen = stdout_screen()
    # In a file or a pipe all is complete.
    room = None if screen is None else max(screen.columns - len(_INDENT), 1)
    paint = painter(sys.stdout, os.environ)
    if not answer.hits:
        print_text(f"No matching skills (searched {answer.searched:,}).")
    elif not answer.confident:
        print_text(f"No good match (searched {answer.searched:,}). Nearest:")
    for hit in answer.hits:
        fits = Colour.GREEN if hit.score >= FITS else Colour.YELLOW
        score = f"{paint(f'{two_digits(hit.score):.2f}', fits)}  " if hit.reason is not None else ""
        category = paint(f"  [{hit.skill.category}]", Colour.DIM) if hit.skill.category else ""
        trust = paint("  (awaits trust: `skillhub trust`)", Colour.YELLOW) if hit.skill.awaits_trust else ""
        print_painted(f"{score}{paint(hit.handle, Colour.BOLD)}{category}{trust}")
        details = [
            hit.skill.description,
            *(f"also as {copy}" for copy in hit.copies),
            *(part.describe() for part in hit.contributions),
        ]
        for detail in details:
            print_text(_INDENT + one_line(detail, width=room))
    if answer.facets is not None:
        for name, counts in asdict(answer.facets).items():
            if counts:
                print_text(f"{name}: " + ", ".join(f"{in_line(value)} ({count})" for value, count in counts.items()))
    elif any(hit.contributions for hit in answer.hits):
        print_text(
            f"{answer.considered:,} of {answer.searched:,} skills contain a word of the query; "
            f"{answer.served:,} are served."
        )
