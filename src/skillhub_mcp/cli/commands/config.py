"""`skillhub config`: every setting with its value and where that came from, in groups."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from skillhub_mcp.cli.arguments import Parser, add_action, add_actions
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.errors import InvalidArgument, InvalidSetting
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import BY_NAME, GROUPS, near_setting, read_settings, unknown_settings, write_setting

DESCRIPTION = "List every setting, by group, with its value, its origin, its default and its meaning."


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    actions = add_actions(parser)
    setter = add_action(actions, "set", _set, "write a setting to your settings file, or remove it", writes=True)
    setter.add_argument("name", metavar="NAME", help="setting, such as SEARCH_LIMIT")
    setter.add_argument("value", metavar="VALUE", nargs="?", help="its value; without one, the setting is removed")


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
        return print_json(
            {"settings": rows, "unknown": [{"name": one.name, "near": one.near or None} for one in unknown]}
        )
    by_name = {row["name"]: row for row in rows}
    for number, (title, settings) in enumerate(GROUPS.items()):
        print_text(("\n" if number else "") + title)
        for setting in settings:
            row = by_name[setting.name]
            value, problem = in_line(str(row["value"])), in_line(str(row["problem"] or ""))
            default = f"default: {row['default'] or 'empty'}"
            origin = "" if row["from"] == "default" else f"{row['from']}; "
            where = f"   ({origin}{default})"
            print_line(f"  {row['name']}=", (value, "bold" if row["from"] != "default" else ""), (where, "dim"))
            print_text(f"      {row['meaning']}" + (f"\n      not used: {problem}" if problem else ""))
    for one in unknown:
        print_note(str(one))
    return EXIT_OK


def _set(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write one setting to the person's file, or remove it. Raises InvalidArgument and InvalidSetting."""
    setting = BY_NAME.get(args.name)
    if setting is None:
        near = near_setting(args.name)
        raise InvalidArgument(
            "NAME",
            f"{args.name!r} is not a setting",
            hint=f"did you mean {near}?" if near else "`skillhub config` lists the settings",
        )
    if args.value is not None:
        read_settings(os.environ, {**options, setting.name: args.value})
    path = None
    try:
        if not args.dry_run:
            path = write_setting(setting.name, args.value)
    except OSError as error:
        raise InvalidSetting("settings file", error.filename, f"cannot be written: {error.strerror}") from error
    if args.json:
        print_json({"dry_run": args.dry_run, "name": setting.name, "value": args.value, "path": path})
    elif path is None:
        print_line(f"{setting.name} would be {'removed' if args.value is None else 'set'}")
    else:
        print_note(f"{setting.name} is {'removed from' if args.value is None else 'set in'} {path}")
    over = [name for name in setting.names if os.environ.get(name)]
    if over:
        print_note(f"{over[0]} is set in the environment, which overrides the file")
    return EXIT_OK
