"""`skillhub disconnect`: remove the server from clients' files, or restore these."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace

from skillhub_mcp.cli.client_changes import (
    ClientOutcome,
    add_client_options,
    connection_name,
    machine_of,
    named_clients,
    refuse_settings,
    refused,
    registrar_of,
    report,
    settle,
)
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK
from skillhub_mcp.clients.connection_problems import disconnecting_command
from skillhub_mcp.clients.connections import Connections, Plan
from skillhub_mcp.clients.model import Client, ClientScope
from skillhub_mcp.clients.table import CLIENTS
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument

DESCRIPTION = (
    "Remove SkillHub from clients' files. A file that was not touched since `skillhub connect` gets its very bytes "
    "back; of any other, only our entry goes. The last hundred copies are in ~/.skillhub/backups."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--restore", action="store_true", help="restore the files from the newest copies")
    add_client_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Disconnect the clients. Fails where a file was left alone. Raises InvalidArgument."""
    refuse_settings(options)
    machine = machine_of(options)
    connections = Connections(machine)
    name = connection_name(args)
    scope = ClientScope(args.scope)
    clients = named_clients(args) or _connected(args, connections, scope, name=name)
    plans: list[Plan] = []
    outcomes: list[ClientOutcome] = []
    for client in clients:
        try:
            plans.append(
                connections.plan_restoration(client, scope)
                if args.restore
                else connections.plan_removal(client, scope, name=name, registrar=registrar_of(client))
            )
        except ClientFileRefused as error:
            outcomes.append(refused(client, scope, error))
    settled = settle(plans, connections, machine, args)
    if not args.restore:
        settled = [_with_other_names(one, connections, name=name) for one in settled]
    outcomes = [*settled, *outcomes]
    report(outcomes, as_json=args.json, dry_run=args.dry_run)
    failed = any(outcome.failed or outcome.outcome == "declined" for outcome in outcomes)
    return EXIT_FAILED if failed else EXIT_OK


def _with_other_names(outcome: ClientOutcome, connections: Connections, *, name: str) -> ClientOutcome:
    """Add a hint for the client's connections under other names if it has none of this name."""
    if outcome.outcome != "unchanged" or outcome.server is not None:
        return outcome
    found = connections.found(outcome.client, outcome.scope, name=name)
    commands = [f"`{disconnecting_command(one)}`" for one in found if one.is_ours and one.name != name]
    return replace(outcome, hint=f"{' and '.join(commands)} disconnects it") if commands else outcome


def _connected(
    args: argparse.Namespace, connections: Connections, scope: ClientScope, *, name: str
) -> tuple[Client, ...]:
    """Return every client that is connected, with `--all`. Raises InvalidArgument for none."""
    if not args.all or args.restore:
        given = "is required with --restore" if args.restore else "is required"
        raise InvalidArgument("CLIENT", given, hint="`skillhub connect --list` says which are connected")
    found = []
    for client in CLIENTS:
        try:
            if any(one.is_ours for one in connections.found(client, scope, name=name)):
                found.append(client)
        except ClientFileRefused:
            # SkillHub never wrote to an unreadable file.
            continue
    if not found:
        raise InvalidArgument("--all", "finds no client that is connected", hint="`skillhub connect --list`")
    return tuple(found)
