"""`skillhub show`: one skill as an agent loads it, or one of its files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from skillhub_mcp.cli.arguments import skill_argument
from skillhub_mcp.cli.console import hide_progress, print_line, print_markdown
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import EXIT_OK, finding_json, print_json, skill_json
from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.environment import shown_path
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import on_terminal

_MAX_BYTES = 1_000_000_000


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", help="name, name@source or path of the skill")
    parser.add_argument("--file", metavar="F", help="print this file of the skill instead")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print a skill's metadata, files and instructions, or one of its files byte for byte."""
    name = skill_argument(args.name)
    if args.file is not None:
        return _print_file(name, args.file, options, as_json=args.json)
    with open_hub(options) as hub:
        first, body = hub.reader.load_whole(name)
        files, more = hub.list_files(name)
        (standing,) = hub.lock_standings([first.skill])
    skill = first.skill
    if args.json:
        named = ("version", "author", "license", "compatibility")
        return print_json(
            {
                **skill_json(skill),
                "handle": first.handle,
                "source": first.source.value,
                "allowed_tools": list(skill.allowed_tools),
                **{name: getattr(skill, name) for name in named},
                "metadata": dict(skill.metadata),
                "lock": None if standing is None else standing.facts(),
                "files": [{"path": file.path, "size": file.size} for file in files],
                "more_files": more,
                "tokens": estimate_tokens(body),
                "diagnostics": [finding_json(one) for one in skill.diagnostics],
                "audit": [finding_json(one, file=one.path) for one in first.warnings],
                "instructions": body,
            }
        )
    facts = [
        ("name", first.handle),
        ("source", first.source.value + ("; awaits trust: `skillhub trust`" if skill.awaits_trust else "")),
        ("description", " ".join(skill.description.split())),
        ("category", skill.category or ""),
        ("tags", ", ".join(skill.tags)),
        ("allowed tools", ", ".join(skill.allowed_tools)),
        ("path", shown_path(skill.directory)),
        ("lock", standing.sentence() if standing is not None else ""),
        ("files", ", ".join(file.path for file in files) + (", …" if more else "")),
        ("cost", f"about {estimate_tokens(body):,} tokens"),
    ]
    facts += [
        (d.severity.value, f"{d.message}{f' (line {d.line})' if d.line else ''}; {d.hint}") for d in skill.diagnostics
    ]
    facts += [("audit", f"{one.severity.value} {one.rule} ({one.place}) {one.message}") for one in first.warnings]
    for label, fact in facts:
        if fact:
            print_line((f"{f'{label}:':<15}", "dim"), fact)
    print_line("")
    print_markdown(body)
    return EXIT_OK


def _print_file(name: str, file: str, options: Mapping[str, str], *, as_json: bool) -> int:
    """Print the file, or the chunk of it that an agent would receive. A terminal gets no binary file."""
    if not file.strip():
        raise InvalidArgument("--file", "is empty", hint="`skillhub show NAME` lists the files of a skill")
    with open_hub(options) as hub:
        if as_json:
            chunk = hub.read_file(name, file)
            named = ("content", "encoding", "truncated", "size", "next_offset", "media_type")
            return print_json({key: getattr(chunk, key) for key in named})
        content = hub.read_bytes(hub.find(name), file, max_bytes=_MAX_BYTES)
    hide_progress()
    if sys.stdout.isatty():
        try:
            sys.stdout.write(on_terminal(content.decode()))
        except UnicodeDecodeError:
            raise InvalidArgument(file, "is binary and not printed on a terminal", hint="redirect it: > FILE") from None
    else:
        sys.stdout.buffer.write(content)
    sys.stdout.flush()
    return EXIT_OK
