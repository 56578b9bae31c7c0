"""`skillhub inspect`: the cost of each layer of disclosure, in tokens."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options, skill_argument
from skillhub_mcp.cli.commands.catalogue import CODELIA, catalogue_entries, context_catalogue
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, plural, print_json, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.told_settings import told_settings
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, fit
from skillhub_mcp.disclosure.token_estimate import estimate_tokens
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.skills.model import is_skill_file


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "inspect",
        group=Group.WRITE,
        help="print the cost of skills in tokens",
        description="Print the cost of each layer of disclosure in estimated tokens: the catalogue in every format "
        "and, for each NAME, its line in the catalogue, its instructions and its files.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="name, name@source or path of a skill to include")
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the costs."""
    settings = told_settings(options)
    budget = Budget(
        max_entries=settings.disclosure.catalogue_max_entries, max_bytes=settings.disclosure.catalogue_max_bytes
    )
    with open_hub(options) as hub:
        entries = catalogue_entries(hub)
        skills = [_skill(hub, skill_argument(name)) for name in args.names]
    catalogues = {}
    for name, render in FORMATS.items():
        if name != CODELIA:
            rendered = fit(entries, budget, render)
        elif settings.disclosure.skills_enabled and not settings.replica.read_only:
            rendered = context_catalogue(settings, budget)
        else:
            continue
        catalogues[name] = {
            "tokens": estimate_tokens(rendered.text),
            "skills": len(rendered.catalogue.entries),
            "left_out": rendered.catalogue.left_out,
            "shortened": rendered.catalogue.shortened,
        }
    if args.json:
        print_json({"skills": len(entries), "catalogue": catalogues, "loaded": skills})
        return EXIT_OK
    print_text(f"{plural(len(entries), 'skill')}; estimated cost of a catalogue:")
    for name, cost in catalogues.items():
        missing = f" ({cost['left_out']:,} left out, {cost['shortened']:,} shortened)"
        cut = missing if cost["left_out"] or cost["shortened"] else ""
        fewer = f", of {plural(cost['skills'], 'skill')} in .agents/skills" if name == CODELIA else ""
        print_text(f"{cost['tokens']:>8,} tokens  as {name}{fewer}{cut}")
    for skill in skills:
        print_text(f"\n{in_line(skill['name'])}")
        print_text(f"{skill['catalogue_tokens']:>8,} tokens  its line in a catalogue")
        print_text(f"{skill['tokens']:>8,} tokens  its instructions")
        for file in skill["files"]:
            binary = file["tokens"] is None
            price = f"{file['size']:>9,} bytes" if binary else f"{file['tokens']:>8,} tokens"
            print_text(f"{price}  {in_line(file['path'])}")
    return EXIT_OK


def _skill(hub: SkillHub, name: str) -> dict[str, Any]:
    first, body = hub.reader.load_whole(name)
    files, more = hub.list_files(name)
    return {
        "name": first.handle,
        "catalogue_tokens": estimate_tokens(f"- {first.skill.name}: {first.skill.description}"),
        "tokens": estimate_tokens(body),
        "files": [
            {"path": file.path, "size": file.size, "tokens": _file_tokens(hub, name, file.path)}
            for file in files
            if not is_skill_file(file.path)
        ],
        "more_files": more,
    }


def _file_tokens(hub: SkillHub, name: str, path: str) -> int | None:
    """Return the tokens of a whole file, or None for a binary file."""
    tokens, offset = 0, 0
    while True:
        chunk = hub.read_file(name, path, offset=offset)
        if chunk.encoding == "base64":
            return None
        tokens += estimate_tokens(chunk.content)
        if chunk.next_offset is None:
            return tokens
        offset = chunk.next_offset
