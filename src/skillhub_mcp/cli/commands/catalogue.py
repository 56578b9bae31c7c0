"""`skillhub catalogue`: all the skills at once, as a model is told of them, within a budget."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options, whole_number
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, note, print_json, say
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, Rendered, fit
from skillhub_mcp.disclosure.token_estimate import estimate_tokens
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.settings import read_settings


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser(
        "catalogue",
        help="print what a model is told of all the skills",
        description="Print what a model is told of all the skills, for the beginning of its context. Descriptions are "
        "shortened to fit before any skill is left out.",
    )
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        default="specification",
        help="specification: <available_skills>; codelia: <skills_context> of .agents/skills alone; registry: lines "
        "of name, source and description; descriptions: '- name: description' (default: %(default)s)",
    )
    parser.add_argument("--max-entries", type=whole_number, metavar="N", help="skills at most")
    parser.add_argument("--max-bytes", type=whole_number, metavar="N", help="bytes of UTF-8 at most")
    parser.add_argument("--max-tokens", type=whole_number, metavar="N", help="estimated tokens at most")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the catalogue; with --json, the text together with what it cost and what is missing."""
    for option in ("max_entries", "max_bytes", "max_tokens"):
        if getattr(args, option) is not None and getattr(args, option) < 1:
            raise InvalidArgument(f"--{option.replace('_', '-')}", "must be at least 1")
    rendered = _codelia(args, options) if args.format == "codelia" else _served(args, options)
    made = rendered.catalogue
    if args.json:
        print_json(
            {
                "format": args.format,
                "text": rendered.text,
                "skills": len(made.entries) if rendered.text else 0,
                "truncated": made.truncated,
                "shortened": made.shortened,
                "left_out": made.left_out,
                "bytes": len(rendered.text.encode()),
                "tokens": estimate_tokens(rendered.text),
            }
        )
        return EXIT_OK
    if rendered.text:
        say(rendered.text)
    elif made.left_out:
        note(f"Not even the name of one of {made.left_out:,} skills fits")
    return EXIT_OK


def _served(args: argparse.Namespace, options: Mapping[str, str]) -> Rendered:
    settings, _ = read_settings(os.environ, options)
    with open_hub(options) as hub:
        entries = hub.catalogue()
    return fit(
        entries,
        _budget(args, settings.disclosure.catalogue_max_entries, settings.disclosure.catalogue_max_bytes),
        FORMATS[args.format],
    )


def _codelia(args: argparse.Namespace, options: Mapping[str, str]) -> Rendered:
    from skillhub_mcp.cli.commands.context import look
    from skillhub_mcp.disclosure.context.catalogue import context_entries

    settings, listing = look(options)
    budget = _budget(args, settings.disclosure.catalogue_max_entries, settings.disclosure.catalogue_max_bytes)
    return fit(context_entries(listing), budget, FORMATS["codelia"], search_tool="skill_search", load_tool="skill_load")


def _budget(args: argparse.Namespace, max_entries: int, max_bytes: int) -> Budget:
    # A budget in tokens stands instead of the one in bytes that a setting gives.
    usual_bytes = None if args.max_tokens is not None else max_bytes
    return Budget(
        max_entries=args.max_entries or max_entries,
        max_bytes=args.max_bytes or usual_bytes,
        max_tokens=args.max_tokens,
    )
