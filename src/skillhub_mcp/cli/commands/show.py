"""`skillhub show`: one skill as an agent loads it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, skill_argument
from skillhub_mcp.cli.colours import Colour, painter
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_painted, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.sanitize import in_line


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "show",
        group=Group.FIND,
        everyday=True,
        help="print a skill as an agent loads it",
        description="Show a skill's metadata, files and instructions.",
    )
    parser.add_argument("name", metavar="NAME", help="name, name@source or path of the skill")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the skill's metadata, then its whole body."""
    from skillhub_mcp.disclosure.token_estimate import estimate_tokens

    name = skill_argument(args.name)
    with open_hub(options) as hub:
        first, body = hub.reader.load_whole(name)
        files, more = hub.list_files(name)
        (standing,) = hub.lock_standings([first.skill])
    skill = first.skill
    if args.json:
        print_json(
            {
                "name": skill.name,
                "handle": first.handle,
                "source": first.source.value,
                "trust": skill.trust.value,
                "description": skill.description,
                "category": skill.category,
                "tags": list(skill.tags),
                "always_apply": skill.always_apply,
                "allowed_tools": list(skill.allowed_tools),
                "disable_model_invocation": skill.disable_model_invocation,
                "user_invocable": skill.user_invocable,
                "version": skill.version,
                "author": skill.author,
                "license": skill.license,
                "compatibility": skill.compatibility,
                "metadata": dict(skill.metadata),
                "path": skill.directory,
                "lock": None if standing is None else standing.told(),
                "files": [{"path": file.path, "size": file.size} for file in files],
                "more_files": more,
                "tokens": estimate_tokens(body),
                "diagnostics": [
                    {"rule": d.rule, "severity": d.severity.value, "line": d.line, "message": d.message}
                    for d in skill.diagnostics
                ],
                "audit": [
                    {"rule": one.rule, "severity": one.severity.value, "file": one.path, "line": one.line}
                    for one in first.warnings
                ],
                "instructions": body,
            }
        )
        return EXIT_OK
    facts = {
        "name": first.handle,
        "source": first.source.value + ("; awaits trust: `skillhub trust`" if skill.awaits_trust else ""),
        "description": " ".join(skill.description.split()),
        "category": skill.category or "-",
        "tags": ", ".join(skill.tags) or "-",
        "allowed tools": ", ".join(skill.allowed_tools) or "-",
        "path": skill.directory,
        **({"lock": standing.sentence()} if standing is not None and standing.sentence() else {}),
        "files": ", ".join(file.path for file in files) + (", …" if more else ""),
        "cost": f"about {estimate_tokens(body):,} tokens",
    }
    paint = painter(sys.stdout, os.environ)
    for label, fact in facts.items():
        print_painted(f"{paint(f'{label}:', Colour.DIM)}{' ' * (14 - len(label))}{paint(fact)}")
    for diagnostic in skill.diagnostics:
        line = f" (line {diagnostic.line})" if diagnostic.line else ""
        print_text(in_line(f"{diagnostic.severity.value + ':':<15}{diagnostic.message}{line}; {diagnostic.hint}"))
    for finding in first.warnings:
        print_text(
            in_line(f"{'audit:':<15}{finding.severity.value} {finding.rule} ({finding.place}) {finding.message}")
        )
    print_text(f"\n{body}")
    return EXIT_OK
