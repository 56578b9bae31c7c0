"""`skillhub search`: search for skills as agents do."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict

from skillhub_mcp.cli.arguments import decode_argument, whole_number
from skillhub_mcp.cli.console import columns, one_line, print_line, print_text
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import empty_exit_code, empty_json, print_empty_result, print_json
from skillhub_mcp.disclosure.hits import two_digits
from skillhub_mcp.hub import SearchAnswer
from skillhub_mcp.search.hits import FITS
from skillhub_mcp.skills.roots import SOURCES, Source

_INDENT = " " * 6


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("query", nargs="*", metavar="WORD", help="words of the task; without any, list the skills")
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", help="maximum number of hits (default: SEARCH_LIMIT)"
    )
    parser.add_argument("--category", metavar="NAME", help="only this category")
    parser.add_argument("--source", choices=SOURCES, help="only this source, including shadowed skills")
    parser.add_argument("--explain", action="store_true", help="show why each hit matched")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Find the skills that fit a task. Finding nothing fails only if something has to be corrected."""
    source = Source(args.source) if args.source else None
    with open_hub(options) as hub:
        answer = hub.search(
            decode_argument(" ".join(args.query)),
            limit=args.limit,
            category=args.category,
            source=source,
            # JSON always has the words that matched.
            explain=args.explain or args.json,
        )
        empty = None if answer.searched else hub.why_nothing(category=args.category, source=source)
    if args.json:
        print_json(_answer_json(answer, explained=args.explain) | empty_json(empty))
    elif empty is not None:
        print_empty_result(empty)
    else:
        _print_hits(answer)
    return empty_exit_code(empty)


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
    return {
        "skills": hits,
        "confident": answer.confident,
        "searched": answer.searched,
        "considered": answer.considered,
        "facets": None if answer.facets is None else asdict(answer.facets),
    }


def _print_hits(answer: SearchAnswer) -> None:
    if not answer.hits:
        print_text(f"No matching skills (searched {answer.searched:,}).")
    elif not answer.confident:
        print_text(f"No good match (searched {answer.searched:,}). Nearest:")
    for hit in answer.hits:
        score = f"{two_digits(hit.score):.2f}  " if hit.reason is not None else ""
        category = f"  [{hit.skill.category}]" if hit.skill.category else ""
        trust = "  (awaits trust: `skillhub trust`)" if hit.skill.awaits_trust else ""
        fits = "green" if hit.score >= FITS else "yellow"
        print_line((score, fits), (hit.handle, "bold"), (category, "dim"), (trust, "yellow"))
        reasons = [part.describe() for part in hit.contributions]
        for detail in (hit.skill.description, *(f"also as {copy}" for copy in hit.copies), *reasons):
            print_line(_INDENT + one_line(detail, width=columns() - len(_INDENT)))
    if answer.facets is not None:
        for name, counts in asdict(answer.facets).items():
            if counts:
                print_line(f"{name}: " + ", ".join(f"{value} ({count})" for value, count in counts.items()))
    elif any(hit.contributions for hit in answer.hits):
        print_text(
            f"{answer.considered:,} of {answer.searched:,} skills contain a word of the query; "
            f"{answer.served:,} are served."
        )
