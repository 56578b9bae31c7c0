"""`skillhub config`: every setting with its value and where that came from, in groups."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.harmless import in_line
from skillhub_mcp.redaction import redacted
from skillhub_mcp.settings import GROUPS, SettingSource, read_settings, unknown_settings


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "config",
        group=Group.CONTROL,
        help="list every setting with its value and origin",
        description="List every setting, by group, with its value, its origin, its default and its meaning.",
    )
    add_json_option(parser)
    add_pager_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=paged(run))


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the settings. Raises InvalidSetting for the first invalid one."""
    _, sources = read_settings(os.environ, options)
    rows = [
        {
            "name": source.setting.name,
            "value": _display_value(source),
            "from": source.source,
            "default": source.setting.default,
            "meaning": source.setting.meaning,
            "problem": source.problem,
        }
        for source in sources
    ]
    unknown = unknown_settings(os.environ)
    if args.json:
        print_json({"settings": rows, "unknown": [{"name": one.name, "near": one.near or None} for one in unknown]})
        return EXIT_OK
    by_name = {row["name"]: row for row in rows}
    for number, group in enumerate(GROUPS):
        print_text(("\n" if number else "") + group.title)
        for setting in group.settings:
            row = by_name[setting.name]
            value, problem = in_line(str(row["value"])), in_line(str(row["problem"] or ""))
            print_text(
                f"  {row['name']}={value}   ({row['from']}; default: {row['default'] or 'empty'})\n"
                f"      {row['meaning']}" + (f"\n      not used: {problem}" if problem else "")
            )
    for one in unknown:
        print_note(in_line(str(one)))
    return EXIT_OK


def _display_value(source: SettingSource) -> str:
    if source.setting.secret:
        return "***" if source.raw else ""
    return redacted(source.raw)
