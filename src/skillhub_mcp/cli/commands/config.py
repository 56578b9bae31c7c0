"""`skillhub config`: every setting with its value and where that came from, in groups."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from skillhub_mcp.cli.arguments import Parser, add_action, add_actions
from skillhub_mcp.cli.console import print_line, print_note, print_text
from skillhub_mcp.cli.output import EXIT_OK, print_json
from skillhub_mcp.errors import InvalidArgument, InvalidSetting
from skillhub_mcp.settings import BY_NAME, GROUPS, near_setting, read_settings, unknown_settings, write_setting


def add_arguments(parser: Parser, _: str) -> None:
    """Declare the arguments."""
    actions = add_actions(parser)
    setter = add_action(actions, "set", _set, "write a setting to your settings file, or remove it", writes=True)
    setter.add_argument("name", metavar="NAME", help="setting, such as SEARCH_LIMIT")
    setter.add_argument("value", metavar="VALUE", nargs="?", help="its value; without one, the setting is removed")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """List every setting, by group, with its value, its origin, its default and its meaning."""
    _, sources = read_settings(os.environ, options)
    unknown = unknown_settings(os.environ)
    if args.json:
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
        near = [{"name": name, "near": near_setting(name) or None} for name in unknown]
        return print_json({"settings": rows, "unknown": near})
    by_name = {source.setting.name: source for source in sources}
    for number, (title, settings) in enumerate(GROUPS.items()):
        print_text(("\n" if number else "") + title)
        for setting in settings:
            found = by_name[setting.name]
            is_default = found.source == "default"
            where = f"   ({'' if is_default else f'{found.source}; '}default: {setting.default or 'empty'})"
            print_line(f"  {setting.name}=", (found.shown, "" if is_default else "bold"), (where, "dim"))
            print_line(f"      {setting.meaning}")
            if found.problem:
                print_line(f"      not used: {found.problem}")
    for name, problem in unknown.items():
        print_note(f"{name} {problem}")
    return EXIT_OK


def _set(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Write one setting to the person's file, or remove it. Raises InvalidArgument and InvalidSetting."""
    setting = BY_NAME.get(args.name)
    if setting is None:
        near = near_setting(args.name)
        hint = f"did you mean {near}?" if near else "`skillhub config` lists the settings"
        raise InvalidArgument("NAME", f"{args.name!r} is not a setting", hint=hint)
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
