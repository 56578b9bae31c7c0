"""`skillhub registry`: every skill by source, with what was refused, shadowed or ignored."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillhub_mcp.bootstrap.library import make_registry, registry_admission
from skillhub_mcp.cli.arguments import Group, add_actions, add_json_option, add_setting_options
from skillhub_mcp.cli.open_hub import open_hub
from skillhub_mcp.cli.output import (
    EXIT_OK,
    one_line,
    plural,
    print_json,
    print_text,
    strict_refusals,
    write_file,
)
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.cli.progress_line import terminal_progress
from skillhub_mcp.cli.screen import room_beside
from skillhub_mcp.disclosure.registry_json import index_json, report_json
from skillhub_mcp.sanitize import in_json, in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.admission import is_strict
from skillhub_mcp.skills.discovery import SkipReason
from skillhub_mcp.skills.registry_index import IndexReport, RegistryIndex
from skillhub_mcp.skills.roots import SOURCES, Source
from skillhub_mcp.skills.rules import RULES

_SHOWN_PLACES = 20
# Reasons to leave a path out that is not at fault: they are counted, and their paths are in the JSON.
_NO_FAULT = frozenset(reason.value for reason in SkipReason)


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "registry",
        group=Group.FIND,
        help="list every skill by source and report conflicts",
        description="List every skill by source, with what was refused, shadowed or ignored. Only frontmatter is read.",
    )
    actions = add_actions(parser)
    for name, run, what in (
        ("build", _build, "read every SKILL.md and print the skills and the report"),
        ("report", _report, "read every SKILL.md and print the report only"),
    ):
        action = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        _add_mode(action)
        action.add_argument("--output", metavar="FILE", help="write JSON to this file")
        add_json_option(action)
        add_pager_option(action)
        add_setting_options(action)
        action.set_defaults(run=paged(run))
        if name == "build":
            action.add_argument("--source", choices=SOURCES, help="only this source, including shadowed skills")
    what = "look for changes, update the search index and print the report"
    refresh = actions.add_parser("refresh", help=what, description=f"{what[0].upper()}{what[1:]}.")
    refresh.add_argument("changes", nargs="*", metavar="PATH", help="only look at this path")
    _add_mode(refresh)
    add_json_option(refresh)
    add_setting_options(refresh)
    refresh.set_defaults(run=_refresh)


def _add_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="include skills that the strict registry refuses: no description, markup, or too long",
    )


def _build(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    index = _index(args, options, source=args.source)
    if args.output or args.json:
        return _print_or_write(index_json(index), args)
    for entry in index.skills:
        head = f"{entry.source.value:<8} {in_line(entry.name)}  "
        print_text(head + one_line(entry.description, width=room_beside(head)))
    print_text(("\n" if index.skills else "") + registry_report_text(index.report))
    return EXIT_OK


def _report(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    report = _index(args, options).report
    if args.output or args.json:
        return _print_or_write(report_json(report), args)
    print_text(registry_report_text(report))
    return EXIT_OK


def _refresh(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    settings = settings_of(options)
    admission = registry_admission(settings, lenient=args.lenient)
    with open_hub({**options, "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
        view = hub.refresh(only=[os.path.abspath(path) for path in args.changes] or None)
        index = hub.registry_index(admission)
    done = view.report
    update = {"written": done.written if done else 0, "removed": done.removed if done else 0}
    if args.json:
        print_json({**index_json(index), "index": update})
    else:
        print_text(f"search index: {update['written']:,} written, {update['removed']:,} removed")
        print_text(registry_report_text(index.report))
    if view.problem is not None:
        raise view.problem
    return EXIT_OK


def registry_report_text(report: IndexReport) -> str:
    """Return the report as text."""
    lines = []
    reasons = {place.path: place.reason for place in report.ignored}
    for root in report.roots:
        state = reasons.get(root.path, f"{root.found:,} found" if root.exists else "does not exist")
        lines.append(f"{root.priority}. {root.source.value:<8} {in_line(root.path)}: {in_line(state)}")
    refused = {reason: count for reason, count in report.ignored_counts.items() if reason in RULES}
    ignored = {reason: count for reason, count in report.ignored_counts.items() if reason not in RULES}
    strict = sum(count for rule, count in refused.items() if is_strict(rule))
    lines += [
        f"found      {report.found:,}",
        f"valid      {report.valid:,}{f', {report.not_for_models:,} not for models' if report.not_for_models else ''}",
        f"refused    {sum(refused.values()):,}{strict_refusals(strict, '--lenient includes them')}",
        *(f"  {count:>6,}  {rule}{' (strict)' if is_strict(rule) else ''}" for rule, count in refused.items()),
        f"ignored    {plural(sum(ignored.values()), 'place')} that gave no skill",
        *(f"  {count:>6,}  {reason}" for reason, count in ignored.items()),
        f"shadowed   {len(report.conflicts):,} by another skill with the same name",
        *(
            f"  {in_line(c.name)}: {c.overridden.source.value} {in_line(c.overridden.path)} shadowed by "
            f"{c.winner.source.value} {in_line(c.winner.path)}: {c.reason}"
            for c in report.conflicts
        ),
        f"digest     {report.digest}",
        f"time       {report.seconds:.3f} s",
    ]
    unread = [place for place in report.ignored if place.rule is None and place.reason not in _NO_FAULT]
    if unread:
        lines.append("\nnot read:")
        lines += [f"  {in_line(place.path)} {in_line(place.reason)}" for place in unread[:_SHOWN_PLACES]]
    faulty = [place for place in report.ignored if place.rule]
    if faulty:
        lines.append("\nrefused:")
        lines += [
            f"  {in_line(place.path)}: {in_line(place.reason)} "
            f"({place.rule}{', strict' if is_strict(place.rule or '') else ''})"
            for place in faulty[:_SHOWN_PLACES]
        ]
        if len(faulty) > _SHOWN_PLACES:
            lines.append(f"  and {len(faulty) - _SHOWN_PLACES:,} more: --json lists them")
    return "\n".join(lines)


def _index(args: argparse.Namespace, options: Mapping[str, str], *, source: str | None = None) -> RegistryIndex:
    settings = settings_of(options)
    if settings.replica.read_only:
        with open_hub(options) as hub:
            admission = registry_admission(settings, lenient=args.lenient)
            return hub.registry_index(admission, source=None if source is None else Source(source))
    with terminal_progress("reading skills"):
        registry = make_registry(settings, lenient=args.lenient)
        index = registry.build_index()
        return index if source is None else replace(index, skills=registry.skills(source=source))


def _print_or_write(value: Mapping[str, object], args: argparse.Namespace) -> int:
    if args.output:
        text = in_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"
        write_file(args.output, text.encode())
        print_text(f"wrote {in_line(args.output)}")
    else:
        print_json(value)
    return EXIT_OK
