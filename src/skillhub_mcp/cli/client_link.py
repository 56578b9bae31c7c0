"""`skillhub connect --link CLIENT`: the link that has a client offer to add the server."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from skillhub_mcp.cli.client_options import connection_name, refuse_settings, server_of_options
from skillhub_mcp.cli.output import EXIT_OK, print_json, print_note, print_text
from skillhub_mcp.clients.links import install_link
from skillhub_mcp.clients.model import ClientScope
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.errors import InvalidArgument


def print_link(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Print the link, and change nothing. Raises InvalidArgument, also for options that mean nothing to a link."""
    refuse_settings(options)
    useless = {
        "CLIENT": args.clients,
        "--all": args.all,
        "--list": args.list,
        "--print": args.printing,
        "--scope project": args.scope == ClientScope.PROJECT.value,
        "--dry-run": args.dry_run,
        "--yes": args.yes,
    }
    for option in (option for option, typed in useless.items() if typed):
        raise InvalidArgument(option, "cannot be used with --link", hint=f"skillhub connect --link {args.link}")
    name = connection_name(args)
    client = client_named(args.link)
    link = install_link(client.name, server_of_options(args, ClientScope.USER), name=name)
    if args.json:
        print_json({"client": client.name, "name": name, "link": link})
    else:
        print_text(link)
        print_note(f"Open it in a browser on this machine: {client.title} shows what it will add, and asks.")
    return EXIT_OK
