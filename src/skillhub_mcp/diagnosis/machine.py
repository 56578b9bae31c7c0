"""The checks of this machine: settings, the command on PATH, clients, files and the sandbox."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from skillhub_mcp._util.wording import plural
from skillhub_mcp.agents_md.schema import read_config
from skillhub_mcp.chosen_roots import project_of
from skillhub_mcp.clients.connection_problems import (
    Level,
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
from skillhub_mcp.diagnosis.installation import CheckResult, Installation
from skillhub_mcp.diagnosis.installed_command import CommandOwner, command_on_path, own_command
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidSetting, SandboxUnavailable
from skillhub_mcp.execution.hooks import read_hooks
from skillhub_mcp.execution.sandbox import OFF
from skillhub_mcp.sanitize import in_line, shortened
from skillhub_mcp.settings import unknown_settings
from skillhub_mcp.skills.snapshot import Problem
from skillhub_mcp.version import version

_SANDBOX = "SKILLHUB_SANDBOX"
_NOT_CONNECTED = "no client connected: `skillhub connect --all` registers those that are installed"
_SECONDS = 20.0
_AT_ONCE = 4


def check_settings(installation: Installation) -> CheckResult:
    """Return invalid settings, invalid files that they name, and misspelt names."""
    settings = installation.settings
    problems = [
        Problem(
            one.setting.name, one.problem, f"correct it; using {one.shown}" if one.shown else "correct it, or unset it"
        )
        for one in installation.sources
        if one.problem
    ]
    # Hooks that others may write are reported by the check of the files.
    exposed = {one.subject for one in installation.exposed()[0]}
    # A server cannot start with a file that it cannot read.
    for value, read in ((settings.execution.hooks, read_hooks), (settings.disclosure.agents_config, read_config)):
        try:
            if value and value not in exposed:
                read(value)
        except InvalidSetting as error:
            fix = error.hint or "correct it; a server that needs it does not start"
            problems.append(Problem(error.setting, error.message, fix))
    unknown = [Problem(one.name, one.problem, "correct the name, or unset it") for one in unknown_settings(os.environ)]
    return CheckResult(problems=problems, warnings=unknown)


def check_command(_: Installation) -> CheckResult:
    """Return whose command is on PATH: a problem if it is another program's."""
    command = command_on_path()
    if command is None:
        return CheckResult(details=["command   skillhub-mcp is not on PATH"], facts={"command": None})
    owner = f"{command.distribution} {command.version}, " if command.distribution else ""
    summary = f" ({shortened(in_line(command.summary), 100)})" if command.summary else ""
    own = own_command()
    other = Problem(
        command.path,
        f"belongs to another program: {command.distribution} {command.version}{summary}",
        "put this installation's directory of commands first on PATH, or "
        + (f"give clients the command {own}" if own else "install this program from a checkout"),
    )
    return CheckResult(
        problems=[other] if command.owner is CommandOwner.OTHER_PROGRAM else (),
        details=[f"command   {command.path}: {owner}{command.owner.value}"],
        facts={"command": {"path": command.path, "owner": command.owner.value}},
    )


def check_files(installation: Installation) -> CheckResult:
    """Return the files that others may write, and as warnings those that others may read."""
    changeable, readable = installation.exposed()
    return CheckResult(problems=changeable, warnings=readable)


def check_sandbox(installation: Installation) -> CheckResult:
    """Return whether commands can be confined: a problem if they are enabled and cannot."""
    enabled = installation.settings.execution.enable_run
    try:
        sandbox = installation.hub.commands().sandbox()
    except SandboxUnavailable as error:
        about = _SANDBOX if enabled else "commands of skills"
        found = Problem(about, error.message, error.hint or "run scripts of skills in your own terminal")
        return CheckResult(
            problems=[found] if enabled else (),
            notes=() if enabled else [found],
            details=["sandbox   not available; commands are refused"],
            facts={"sandbox": {"name": None, "reason": error.reason}},
        )
    what = "commands of skills run unconfined: each may read, change and send all that you may"
    off = Problem(f"{_SANDBOX}=off", what, f"unset {_SANDBOX}, unless every skill here is your own")
    return CheckResult(
        warnings=[off] if sandbox is OFF and enabled else (),
        details=[f"sandbox   {sandbox.name}"],
        facts={"sandbox": {"name": sandbox.name, "reason": None}},
    )


def check_clients(installation: Installation) -> CheckResult:
    """Read every client's file and try each connection to SkillHub, several side by side."""
    machine = Machine(this_system(), os.environ, expand_home("~"), project_of(installation.settings).root)
    files = registered_files(machine)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tried = list(pool.map(lambda one: _try(one, machine), (one for file in files for one in file.connections)))
    snapshot = installation.view.snapshot
    counts = Counter(skill.root for skill in snapshot.everything)
    roots = {root.path: counts[root.path] for root in snapshot.report.roots}
    findings = [found for file in files for found in file_findings(file)]
    findings += [found for one in tried for found in connection_findings(one, version(), roots)]
    reported = {file.client.name for file in files}
    signs = [(client, signs_of(client, machine)) for client in CLIENTS if client.name not in reported]
    clients = {one.connection.client.name for one in tried if one.leads_to_us and not one.connection.is_off}
    return CheckResult(
        problems=[problem for level, problem in findings if level is Level.PROBLEM],
        warnings=[
            *(problem for level, problem in findings if level is Level.WARNING),
            *(problem for one in tried for problem in _misspelt(one)),
            *repeated(tried),
        ],
        notes=[
            *(problem for level, problem in findings if level is Level.NOTE),
            *(unconnected(client, found[0]) for client, found in signs if found),
        ],
        state=f"{plural(len(clients), 'client')} connected" if clients else _NOT_CONNECTED,
        details=[_detail(one) for one in tried],
        facts={"connections": [_json(one) for one in tried]},
    )


def _json(tried: Tried) -> dict[str, object]:
    known, probed = tried.connection, tried.probed
    return {
        "client": known.client.name,
        "path": known.path,
        "name": known.name,
        "answers": probed and probed.answers,
        "version": (probed and probed.version) or None,
    }


def _misspelt(tried: Tried) -> Sequence[Problem]:
    server = tried.connection.server
    named = (*server.environment, *server.variables) if isinstance(server, StdioServer) else ()
    return misspelt_settings(tried, {one.name: one.problem for one in unknown_settings(named)})


def _try(connection: Connection, machine: Machine) -> Tried:
    server = connection.server
    reason = why_not_started(connection, machine)
    if server is None or reason:
        return Tried(connection, untried=reason)
    environment = environment_of(server, machine, from_desktop=not connection.client.in_terminal)
    by_shell_only = False
    if isinstance(server, StdioServer) and not shutil.which(server.command, path=environment["PATH"]):
        shell = machine.environment.get("PATH", "")
        by_shell_only = shutil.which(server.command, path=shell) is not None
        if by_shell_only:
            # Whether it would answer is worth knowing all the same.
            environment["PATH"] = shell
    cwd = machine.project if connection.scope is ClientScope.PROJECT else machine.home
    probed = probe(server, environment=environment, cwd=cwd, seconds=_SECONDS)
    return Tried(connection, probed, by_shell_only=by_shell_only)


def _detail(tried: Tried) -> str:
    connection, probed = tried.connection, tried.probed
    if probed is None:
        state = tried.untried or "cannot be used"
    elif probed.answers:
        state = f"{probed.server_name} {probed.version} answers, {plural(len(probed.tools), 'tool')}"
    else:
        state = "does not answer"
    return f"client    {connection.client.title}, {connection.path}, {connection.name!r}: {state}"
