"""`skillhub connect`: register the server with the programs that use it, such as Cursor."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
    server_of_options,
    settle,
)
from skillhub_mcp.cli.console import print_note, print_table, print_text, shown_path
from skillhub_mcp.cli.installed_command import COMMAND, CommandOwner, command_on_path, is_passing, own_command
from skillhub_mcp.cli.next_steps import as_typed, skills_step
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK, print_json
from skillhub_mcp.clients.connection_problems import disconnecting_command
from skillhub_mcp.clients.connections import Connection, Connections, Plan, no_file_of
from skillhub_mcp.clients.entries import DEFAULT_NAME, whole_file
from skillhub_mcp.clients.links import LINKED, install_link
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientScope, Server, StdioServer
from skillhub_mcp.clients.probe import Probed, desktop_environment, probe
from skillhub_mcp.clients.table import CLIENTS, client_named, signs_of
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument
from skillhub_mcp.settings import read_settings

DESCRIPTION = (
    "Register SkillHub with clients: show what changes in their files, ask, write, and start the server as they "
    "would. Everything else in a file stays as it is, and `skillhub disconnect` restores it."
)


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments."""
    parser.add_argument("--list", action="store_true", help="list the clients: installed, connected, and where")
    parser.add_argument("--print", dest="printing", action="store_true", help="print the entry, and change nothing")
    parser.add_argument("--link", choices=LINKED, help="print the link that adds it with one click")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--http", metavar="URL", help="use the server that is running at this address")
    how.add_argument("--stdio", action="store_true", help="start a server, also if it uses one at an address")
    parser.add_argument("--token-variable", metavar="NAME", help="with --http: the variable that holds the token")
    parser.add_argument("--env", action="append", metavar="NAME[=VALUE]", help="a setting for the server; repeatable")
    add_client_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Connect the clients. Fails where a file was left alone, or its server does not answer. Raises InvalidArgument."""
    refuse_settings(options)
    if args.link is not None:
        return _print_link(args)
    machine = machine_of(options)
    connections = Connections(machine)
    name = connection_name(args)
    if args.list:
        return _list(connections, machine, name=name, as_json=args.json)
    scope = ClientScope(args.scope)
    server = server_of_options(args, scope)
    clients = _chosen(args, machine, scope)
    if args.printing:
        return _print_entries(clients, scope, server, connections, args)
    _warn_of_command(server, scope)
    plans, left_alone = _planned(clients, scope, server, connections, args)
    outcomes = [*settle(plans, connections, machine, args), *left_alone]
    if not args.json:
        _warn_of_directories(outcomes)
    if not args.dry_run:
        outcomes = _started(outcomes, machine)
    report(outcomes, as_json=args.json, dry_run=args.dry_run)
    answering = [one.server for one in outcomes if one.probed is not None and one.probed.answers]
    if not args.json and any(isinstance(server, StdioServer) for server in answering):
        _note_no_skills()
    failed = any(outcome.failed or outcome.outcome == "declined" for outcome in outcomes)
    return EXIT_FAILED if failed else EXIT_OK


def _chosen(args: argparse.Namespace, machine: Machine, scope: ClientScope) -> tuple[Client, ...]:
    """Return the clients to connect. Raises InvalidArgument for none."""
    clients = named_clients(args)
    if clients:
        return clients
    found = {client.name: signs for client in CLIENTS if (signs := signs_of(client, machine))}
    if not args.all:
        hint = "`skillhub connect --list` lists the clients"
        if found:
            hint = f"`skillhub connect {' '.join(found)}` connects those that are installed here, and so does --all"
        raise InvalidArgument("CLIENT", "is required", hint=hint)
    here = [client for client in CLIENTS if client.name in found]
    able = [client for client in here if scope is ClientScope.USER or client.files(scope, machine)]
    if not able:
        reason = "finds no client here that has a file in a project" if found else "finds no client here"
        hint = "`skillhub connect --list` lists those that it looks for; name yours to connect it all the same"
        raise InvalidArgument("--all", reason, hint=hint)
    if not args.json:
        for client in able:
            print_note(f"{client.title} is installed: {shown_path(found[client.name][0])}")
    return tuple(able)


def _planned(
    clients: Sequence[Client], scope: ClientScope, server: Server, connections: Connections, args: argparse.Namespace
) -> tuple[list[Plan], list[ClientOutcome]]:
    """Return the plans, and the clients whose files are left alone. Raises InvalidArgument about the only one."""
    name = args.name
    # --env is for a server that the client starts, as --stdio is.
    replaces_address = args.stdio or bool(args.env)
    plans: list[Plan] = []
    left_alone: list[ClientOutcome] = []
    for client in clients:
        try:
            plan = connections.plan(
                client, scope, server, name=name, registrar=registrar_of(client), replaces_address=replaces_address
            )
            if not args.json:
                _note_others(connections.found(client, scope, name=name), name=name)
            plans.append(plan)
        except ClientFileRefused as error:
            # Pasting under a taken name would replace its entry.
            text = "" if error.name_taken else whole_file(client, server, name=name)
            left_alone.append(refused(client, scope, error, text))
        except InvalidArgument as error:
            if len(clients) == 1:
                raise
            left_alone.append(refused(client, scope, error))
    return plans, left_alone


def _print_entries(
    clients: Sequence[Client], scope: ClientScope, server: Server, connections: Connections, args: argparse.Namespace
) -> int:
    entries = []
    for client in clients:
        path = connections.path_of(client, scope)
        if path is None and not client.is_printed:
            raise no_file_of(client, scope)
        where = client.where or shown_path(path or "")
        entries.append({"client": client.name, "where": where, "text": whole_file(client, server, name=args.name)})
        if not args.json:
            print_note(f"{client.title}: {where}")
            print_text(entries[-1]["text"].rstrip("\n"))
    if args.json:
        print_json({"clients": entries})
    return EXIT_OK


def _warn_of_command(server: Server, scope: ClientScope) -> None:
    """Warn of a command in a cache, or of another program with its name."""
    if not isinstance(server, StdioServer):
        return
    if scope is ClientScope.USER and is_passing(server.command):
        print_note(
            f"warning: {server.command} is in a cache, which may be emptied at any time\n"
            "  `uv tool install .` in a checkout installs it where it stays"
        )
    on_path = command_on_path() if scope is ClientScope.PROJECT else None
    if on_path is not None and on_path.owner is CommandOwner.OTHER_PROGRAM:
        print_note(f"warning: {on_path.path}, which the project's file will start here, is another program")


def _note_others(found: Sequence[Connection], *, name: str) -> None:
    """Note connections under another name: the client would start two servers."""
    for one in found:
        if one.is_ours and one.name != name:
            print_note(f"{one.client.title} has SkillHub as {one.name!r} too: `{disconnecting_command(one)}` ends that")


def _warn_of_directories(outcomes: Sequence[ClientOutcome]) -> None:
    for outcome in outcomes:
        if isinstance(outcome.server, StdioServer) and "SKILLS_DIR" in outcome.server.environment:
            print_note(
                f"warning: the entry for {outcome.client.title} has SKILLS_DIR: it serves that directory alone, and "
                "neither the project's skills nor your own\n"
                "  `skillhub roots add DIR` has a directory searched beside the others"
            )


def _note_no_skills() -> None:
    """Print how to serve the first skills if the server finds none."""
    from skillhub_mcp.bootstrap.library import surroundings_of
    from skillhub_mcp.chosen_roots import roots_of

    own = {name: value for name, value in os.environ.items() if name not in ("SKILLS_DIR", "SKILLHUB_ROOTS")}
    settings, _ = read_settings(own)
    counts, elsewhere = surroundings_of(settings).survey(roots_of(settings))
    if not any(counts.values()):
        step = skills_step(0, elsewhere)
        print_note(f"\nNo skill is served yet\n  → `{as_typed(step.command, program=sys.argv[0])}` {step.what}")


def _started(outcomes: Sequence[ClientOutcome], machine: Machine) -> list[ClientOutcome]:
    """Start each server that a client was connected to, as that client would; each only once."""
    probes: list[tuple[Server, Probed]] = []
    started = []
    for outcome in outcomes:
        server = outcome.server
        if server is None or outcome.is_off or outcome.outcome == "declined":
            started.append(outcome)
            continue
        # All outcomes of one run have the same scope.
        probed = next((one for same, one in probes if same == server), None)
        if probed is None:
            probed = _probe(server, outcome.scope, machine)
            probes.append((server, probed))
        started.append(replace(outcome, probed=probed))
    return started


def _probe(server: Server, scope: ClientScope, machine: Machine) -> Probed:
    """Start a server with the desktop's environment for a user's file, else with this shell's."""
    environment = dict(machine.environment)
    own = own_command()
    if server == StdioServer(COMMAND) and own is not None and shutil.which(COMMAND) is None:
        return Probed(failure=f"{COMMAND} is not found by its name: put {os.path.dirname(own)} on PATH")
    if scope is ClientScope.USER and isinstance(server, StdioServer):
        named = {name: environment[name] for name in server.variables if name in environment}
        environment = desktop_environment(machine) | named
    cwd = machine.project if scope is ClientScope.PROJECT else machine.home
    return probe(server, environment=environment, cwd=cwd)


def _list(connections: Connections, machine: Machine, *, name: str, as_json: bool) -> int:
    rows = [_row(client, connections, machine, name=name) for client in CLIENTS if client.name != "other"]
    if as_json:
        print_json({"clients": rows})
        return EXIT_OK
    near = [row for row in rows if row["installed"] or row["connections"] or row["problems"]]
    if near:
        table = [(str(row["client"]), (state, "dim"), text) for row in near for state, text in _states(row)]
        print_table(("client", "state", "file"), table)
        print_text("")
    for row in near:
        for one in row["problems"]:
            print_text(f"{shown_path(one['path'])} cannot be read as {row['title']}'s file: {one['reason']}\n")
    if others := ", ".join(str(row["client"]) for row in rows if row not in near):
        print_text(f"not found here: {others}")
    if any(row["installed"] and not row["connections"] for row in near):
        print_note("\n`skillhub connect --all` connects those that are installed")
    elif not near:
        print_note("\n`skillhub connect CLIENT` connects one all the same, `skillhub connect other` prints an entry")
    return EXIT_OK


def _states(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each state of a client, with a path or place."""
    for problem in row["problems"]:
        yield "unreadable", shown_path(problem["path"])
    for one in row["connections"]:
        named = f" as {one['name']}" if one["name"] != DEFAULT_NAME else ""
        state = "taken" if not one["is_skillhub"] else "off" if one["is_off"] else "connected"
        yield state, shown_path(one["path"]) + named + ("" if one["is_skillhub"] else " (by something else)")
    if not row["connections"] and not row["problems"]:
        yield "installed", str(row["where"])


def _row(client: Client, connections: Connections, machine: Machine, *, name: str) -> dict[str, Any]:
    found, problems = [], []
    for scope in ClientScope:
        try:
            found += connections.found(client, scope, name=name)
        except ClientFileRefused as error:
            problems.append({"scope": scope.value, "path": error.path, "reason": error.reason})
    path = connections.path_of(client, ClientScope.USER)
    return {
        "client": client.name,
        "title": client.title,
        "installed": list(signs_of(client, machine)),
        "where": client.where or (shown_path(path) if path else ""),
        "connections": [
            {"scope": one.scope.value, "is_skillhub": one.is_ours}
            | {key: getattr(one, key) for key in ("path", "name", "is_off")}
            for one in found
        ],
        "problems": problems,
    }


def _print_link(args: argparse.Namespace) -> int:
    """Print the link. Raises InvalidArgument for options without meaning for a link."""
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
