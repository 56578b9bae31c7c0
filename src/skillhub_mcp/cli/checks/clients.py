"""The clients that SkillHub is registered with: what each of them would start is started, and asked for its tools."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.cli.checks import CheckResult, Installation
from skillhub_mcp.cli.output import plural
from skillhub_mcp.clients.connection_problems import (
    Tried,
    connection_findings,
    file_findings,
    misspelt_settings,
    repeated,
    unconnected,
)
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import ClientScope, StdioServer
from skillhub_mcp.clients.probe import environment_of, probe
from skillhub_mcp.clients.registered import RegisteredFile, registered_files
from skillhub_mcp.clients.table import CLIENTS, signs_of
from skillhub_mcp.clients.trust import why_not_started
from skillhub_mcp.settings import unknown_settings
from skillhub_mcp.skills.problems import Problem
from skillhub_mcp.version import version

_SECONDS = 20.0
_NOT_CONNECTED = "no client connected: `skillhub connect --all` registers those that are installed"
_AT_ONCE = 4


def check_clients(installation: Installation) -> CheckResult:
    """Read every client's file and try each connection to SkillHub, several side by side."""
    project = project_of(installation.settings).root
    machine = Machine(this_system(), os.environ, installation.home, project)
    files = registered_files(machine)
    connections = [one for file in files for one in file.connections]
    tried = _try_all(connections, machine)
    snapshot = installation.view.snapshot
    counts = Counter(skill.root for skill in snapshot.everything)
    roots = {root.path: counts[root.path] for root in snapshot.report.roots}
    findings = [file_findings(file) for file in files]
    findings += [connection_findings(one, version(), roots) for one in tried]
    misspelt = [problem for one in tried for problem in misspelt_settings(one, _guesses(one))]
    clients = {one.connection.client.name for one in tried if one.leads_to_us and not one.connection.is_off}
    return CheckResult(
        problems=tuple(problem for one in findings for problem in one.problems),
        warnings=(
            *(problem for one in findings for problem in one.warnings),
            *misspelt,
            *repeated(tried),
        ),
        notes=(*(problem for one in findings for problem in one.notes), *_unconnected(files, machine)),
        state=f"{plural(len(clients), 'client')} connected" if clients else _NOT_CONNECTED,
        details=tuple(map(_detail, tried)),
        facts={"connections": [_fact(one) for one in tried]},
    )


def _guesses(tried: Tried) -> Mapping[str, str]:
    server = tried.connection.server
    named = (*server.environment, *server.variables) if isinstance(server, StdioServer) else ()
    return {one.name: one.guess for one in unknown_settings(named)}


def _unconnected(files: Sequence[RegisteredFile], machine: Machine) -> Iterator[Problem]:
    reported = {file.client.name for file in files}
    for client in CLIENTS:
        signs = () if client.name in reported else signs_of(client, machine)
        if signs:
            yield unconnected(client, signs[0])


def _try_all(connections: Sequence[Connection], machine: Machine) -> list[Tried]:
    tried: dict[int, Tried] = {}
    turns = threading.BoundedSemaphore(_AT_ONCE)

    def work(number: int, connection: Connection) -> None:
        with turns:
            tried[number] = _try(connection, machine)

    # Daemons, so that Ctrl-C does not wait for a server that says nothing.
    threads = [threading.Thread(target=work, args=one, daemon=True) for one in enumerate(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [tried[number] for number in range(len(connections))]


def _try(connection: Connection, machine: Machine) -> Tried:
    server = connection.server
    reason = why_not_started(connection, machine)
    if server is None or reason:
        return Tried(connection, untried=reason)
    environment = environment_of(server, machine, from_desktop=not connection.client.in_terminal)
    by_shell_only = False
    if isinstance(server, StdioServer):
        shell = machine.environment.get("PATH", "")
        by_shell_only = not shutil.which(server.command, path=environment["PATH"]) and bool(
            shutil.which(server.command, path=shell)
        )
        if by_shell_only:
            # Whether it would answer is worth knowing all the same.
            environment["PATH"] = shell
    cwd = machine.project if connection.scope is ClientScope.PROJECT else machine.home
    probed = probe(server, environment=environment, cwd=cwd, seconds=_SECONDS)
    return Tried(connection, probed, by_shell_only=by_shell_only)


def _detail(tried: Tried) -> str:
    connection = tried.connection
    place = f"{connection.client.title}, {connection.path}, {connection.name!r}"
    if tried.probed is None:
        return f"client    {place}: {tried.untried or 'cannot be used'}"
    if not tried.probed.answers:
        return f"client    {place}: does not answer"
    who = f"{tried.probed.server_name} {tried.probed.version}"
    return f"client    {place}: {who} answers, {plural(len(tried.probed.tools), 'tool')}"


def _fact(tried: Tried) -> dict[str, object]:
    connection, probed = tried.connection, tried.probed
    return {
        "client": connection.client.name,
        "scope": connection.scope.value,
        "path": connection.path,
        "name": connection.name,
        "answers": None if probed is None else probed.answers,
        "version": None if probed is None else probed.version or None,
        "tools": None if probed is None else list(probed.tools),
    }
