"""`skillhub config`: every setting with its value and where that came from, in groups."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import Group, add_actions, add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.cli.pager import add_pager_option, paged
from skillhub_mcp.errors import InvalidArgument, InvalidSetting
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import BY_NAME, GROUPS, near_setting, read_settings, unknown_settings, write_setting

_SET = "Write a setting to ~/.config/skillhub/settings.toml, or remove it. Environment variables override the file."


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
    actions = add_actions(parser, required=False)
    setter = actions.add_parser("set", help="write a setting to your settings file", description=_SET)
    setter.add_argument("name", metavar="NAME", help="setting, such as SEARCH_LIMIT")
    setter.add_argument("value", metavar="VALUE", nargs="?", help="its value; without one, the setting is removed")
    setter.set_defaults(run=run_set)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the settings. Raises InvalidSetting for the first invalid one."""
    _, sources = read_settings(os.environ, options)
    rows = [
        {
            "name": source.setting.name,
            "value": source.shown,
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


def run_set(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write one setting to the person's file, or remove it. Raises InvalidArgument and InvalidSetting."""
    setting = BY_NAME.get(args.name)
    if setting is None:
        near = near_setting(args.name)
        raise InvalidArgument("NAME", f"{args.name!r} is not a setting", hint=f"did you mean {near}?" if near else None)
    if args.value is not None:
        read_settings(os.environ, {**options, setting.name: args.value})
    try:
        path = write_setting(setting.name, args.value)
    except OSError as error:
        raise InvalidSetting("settings file", error.filename, f"cannot be written: {error.strerror}") from error
    print_note(in_line(f"{setting.name} is {'removed from' if args.value is None else 'set in'} {path}"))
    over = [name for name in setting.names if os.environ.get(name)]
    if over:
        print_note(f"{over[0]} is set in the environment, which overrides the file")
    return EXIT_OK
