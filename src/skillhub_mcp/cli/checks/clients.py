"""The clients that SkillHub is registered with: what each of them would start is started, and asked for its tools."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

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
    why_not_started,
)
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import ClientScope, StdioServer
from skillhub_mcp.clients.probe import environment_of, probe
from skillhub_mcp.clients.registered import registered_files
from skillhub_mcp.clients.table import CLIENTS, signs_of
from skillhub_mcp.environment import expand_home
from skillhub_mcp.settings import unknown_settings
from skillhub_mcp.skills.snapshot import Problem
from skillhub_mcp.version import version

_SECONDS = 20.0
_NOT_CONNECTED = "no client connected: `skillhub connect --all` registers those that are installed"
_AT_ONCE = 4


def check_clients(installation: Installation) -> CheckResult:
    """Read every client's file and try each connection to SkillHub, several side by side."""
    project = project_of(installation.settings).root
    machine = Machine(this_system(), os.environ, expand_home("~"), project)
    files = registered_files(machine)
    connections = [one for file in files for one in file.connections]
    tried = _try_all(connections, machine)
    snapshot = installation.view.snapshot
    counts = Counter(skill.root for skill in snapshot.everything)
    roots = {root.path: counts[root.path] for root in snapshot.report.roots}
    findings = [file_findings(file) for file in files]
    findings += [connection_findings(one, version(), roots) for one in tried]
    reported = {file.client.name for file in files}
    signs = [(client, signs_of(client, machine)) for client in CLIENTS if client.name not in reported]
    clients = {one.connection.client.name for one in tried if one.leads_to_us and not one.connection.is_off}
    return CheckResult(
        problems=tuple(problem for one in findings for problem in one.problems),
        warnings=(
            *(problem for one in findings for problem in one.warnings),
            *(problem for one in tried for problem in _misspelt(one)),
            *repeated(tried),
        ),
        notes=(
            *(problem for one in findings for problem in one.notes),
            *(unconnected(client, found[0]) for client, found in signs if found),
        ),
        state=f"{plural(len(clients), 'client')} connected" if clients else _NOT_CONNECTED,
        details=tuple(map(_detail, tried)),
        facts={
            "connections": [
                {
                    "client": one.connection.client.name,
                    "path": one.connection.path,
                    "name": one.connection.name,
                    "answers": None if one.probed is None else one.probed.answers,
                    "version": None if one.probed is None else one.probed.version or None,
                }
                for one in tried
            ]
        },
    )


def _misspelt(tried: Tried) -> Sequence[Problem]:
    server = tried.connection.server
    named = (*server.environment, *server.variables) if isinstance(server, StdioServer) else ()
    return misspelt_settings(tried, {one.name: one.guess for one in unknown_settings(named)})


def _try_all(connections: Sequence[Connection], machine: Machine) -> list[Tried]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda one: _try(one, machine), connections))


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
