"""`skillhub config`: every setting, its value, and where that came from."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from typing import Any

from skillhub_mcp.cli.arguments import add_json_option, add_setting_options
from skillhub_mcp.cli.output import EXIT_OK, print_json, say
from skillhub_mcp.settings import SettingSource, read_settings


def add_parser(verbs: Any) -> None:
    """Say what may be typed."""
    parser = verbs.add_parser("config", help="show every setting", description="Show every setting.")
    add_json_option(parser)
    add_setting_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the settings. Raises InvalidSetting for the first that cannot be used."""
    _, origins = read_settings(os.environ, options)
    rows = [
        {
            "name": origin.setting.name,
            "value": _shown(origin),
            "from": origin.source,
            "default": origin.setting.default,
            "meaning": origin.setting.meaning,
            "problem": origin.problem,
        }
        for origin in origins
    ]
    if args.json:
        print_json({"settings": rows})
        return EXIT_OK
    for row in rows:
        say(
            f"{row['name']}={row['value']}   ({row['from']}; default: {row['default'] or 'empty'})\n"
            f"    {row['meaning']}" + (f"\n    not used: {row['problem']}" if row["problem"] else "")
        )
    return EXIT_OK


def _shown(origin: SettingSource) -> str:
    if origin.setting.secret:
        return "***" if origin.written else ""
    # An address may carry a name and a password.
    return re.sub(r"//[^/@]*@", "//***@", origin.written)
