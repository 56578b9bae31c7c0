"""Find problems of connections, from the clients' files and the answers of the servers."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations
from urllib.parse import urlsplit

from skillhub_mcp._util.wording import plural
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.entries import DEFAULT_NAME
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.ownership import COMMANDS, fetches_namesake
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.registered import RegisteredFile
from skillhub_mcp.environment import expand_home
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.roots import is_at_or_below

SERVER_NAME = "SkillHub"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Tried:
    """A connection, and the answer of its server; None if it was not started, for the reason `untried`.

    `by_shell_only`: the command is on the shell's PATH, and not on that of programs started from a desktop.
    """

    connection: Connection
    probed: Probed | None = None
    untried: str = ""
    by_shell_only: bool = False

    @property
    def leads_to_us(self) -> bool:
        """Whether the connection leads to SkillHub, as far as that is known."""
        if self.probed is not None and self.probed.answers:
            return self.probed.server_name == SERVER_NAME
        return self.connection.is_ours


class Level(str, Enum):
    """The severity of a finding."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


Finding = tuple[Level, Problem]


def unreadable(file: RegisteredFile) -> Problem:
    """Return the problem of a client's file that cannot be read."""
    what = f"cannot be read as {file.client.title}'s file: {file.refusal}"
    return Problem(file.path, what, f"correct it, then `{_connect(file.client, file.scope)}`")


def misplaced(file: RegisteredFile) -> list[Problem]:
    """Return the keys with an entry for SkillHub that the file's client does not read."""
    title, reads = file.client.title, ".".join(file.client.key)
    then = "" if file.connections else f", then `{_connect(file.client, file.scope)}`"
    return [
        Problem(
            file.path,
            f"has SkillHub under {key!r}, which {title} does not read: it reads {reads!r}",
            f"remove it there{then}",
        )
        for key in file.misplaced
    ]


def unconnected(client: Client, sign: str) -> Problem:
    """Return the note about a client that is installed, as `sign` shows, and not connected."""
    return Problem(sign, f"{client.title} is installed here and not connected", _connect(client, ClientScope.USER))


def why_not_started(connection: Connection, machine: Machine) -> str:
    """Return why a connection is not started; empty if it may be.

    A project's file may be hostile: of its entries, only those that start an installed SkillHub are started.
    """
    server = connection.server
    if connection.is_off:
        return f"{connection.client.title} has it switched off"
    if server is None:
        return ""
    if isinstance(server, StdioServer) and not connection.is_ours:
        return "it starts another program"
    if connection.scope is ClientScope.USER or connection.was_written_here:
        return ""
    if isinstance(server, HttpServer):
        nearby = urlsplit(server.url).hostname in _LOOPBACK and not server.token_variable
        return "" if nearby else "a project's entry leads to another machine, or sends a token"
    is_own = os.path.isabs(server.command) and _is_below(server.command, sys.prefix)
    if server.environment == {"SKILLHUB_CWD": connection.client.workspace}:
        server = replace(server, environment={})
    plain = server.command in COMMANDS and not (server.arguments or server.environment or server.variables)
    if not plain and not (is_own and server == StdioServer(server.command)):
        return "a project's entry does more than start SkillHub"
    found = shutil.which(server.command, path=machine.environment.get("PATH", ""))
    if found is not None and _is_below(found, machine.project) and not _is_below(found, sys.prefix):
        return "its command belongs to the project"
    return ""


def connection_findings(
    tried: Tried, version: str, roots: Mapping[str, int], unknown: Callable[[Iterable[str]], Mapping[str, str]]
) -> Iterator[Finding]:
    """Yield the problems of one connection.

    `version` is this program's. `roots` are the directories that it searches, with the number of their skills.
    `unknown` returns which variables are misspelt settings, and what is wrong with each.
    """
    connection, probed = tried.connection, tried.probed
    client, server = connection.client, connection.server
    command = _connect(client, connection.scope, connection.name)
    entry = f"{client.title}'s entry {connection.name!r}"
    replacing = f"remove the entry, then `{command}`"
    if isinstance(server, StdioServer) and tried.leads_to_us:
        for name, problem in unknown((*server.environment, *server.variables)).items():
            what = f"{entry} sets {name}, which {problem}"
            yield Level.WARNING, Problem(connection.path, what, "correct the name there, or remove it")
    level = Level.PROBLEM
    if server is None:
        words = [client.stdio.command, *([] if client.http is None else [client.http.url])]
        what = f"{entry} has no {' or '.join(map(repr, words))} that {client.title} can use"
        # Connecting does not change an entry that is not known to be ours.
        fix = command if connection.is_ours else replacing
    elif isinstance(server, StdioServer) and fetches_namesake(server):
        what = f"{entry} installs another program, which has SkillHub's name on the package index"
        fix = replacing
    elif connection.is_off and connection.is_ours:
        level, what = Level.WARNING, f"{entry} is switched off in {client.title}"
        fix = f"switch it on in {client.title}"
    elif probed is None:
        level, what = Level.NOTE, f"{entry} was not started: {tried.untried}"
        fix = f"look at it; {client.title} asks before it starts it"
        if not connection.is_ours:
            fix = f"`{_connect(client, connection.scope, 'skills')}` adds SkillHub beside it"
    elif not probed.answers:
        what, fix = f"{entry} does not answer: {probed.failure}", _fix_of_silence(connection, command)
    elif probed.server_name != SERVER_NAME:
        who = f"{probed.server_name} {probed.version}".strip()
        what, fix = f"{entry} starts another program: {who}", replacing
    else:
        yield from _of_directories(connection, entry, roots)
        yield from _of_installation(tried, probed, entry, command, version)
        return
    yield level, Problem(connection.path, what, fix)


def repeated(tried: Iterable[Tried]) -> tuple[Problem, ...]:
    """Return the connections of one client that lead to the same server as another of it."""
    ours = [one.connection for one in tried if one.leads_to_us and one.connection.server is not None]
    return tuple(
        Problem(
            second.path,
            f"has SkillHub as {second.name!r}, and {'also' if first.path == second.path else first.path} as "
            f"{first.name!r}: {second.client.title} has it twice",
            disconnecting_command(second),
        )
        for first, second in combinations(ours, 2)
        if first.client.name == second.client.name and _same(first.server, second.server)
    )


def disconnecting_command(connection: Connection) -> str:
    """Return the command that removes a connection."""
    return f"skillhub disconnect {connection.client.name}{_options(connection.scope, connection.name)}"


def _of_installation(tried: Tried, probed: Probed, entry: str, command: str, version: str) -> Iterator[Finding]:
    connection, server = tried.connection, tried.connection.server
    title = connection.client.title
    if tried.by_shell_only and isinstance(server, StdioServer):
        what = f"{entry} starts {server.command!r}, which is on your shell's PATH, but not on that of {title}"
        what += " when it is started from the desktop"
        if connection.scope is ClientScope.USER:
            yield Level.PROBLEM, Problem(connection.path, what, f"`{command}` writes the absolute path")
        else:
            yield Level.WARNING, Problem(connection.path, what, f"start {title} from a shell")
    # A bundle's version has a label.
    if probed.version.partition("+")[0] != version.partition("+")[0]:
        what = f"{entry} runs SkillHub {probed.version}; this is {version}"
        fix = command if isinstance(server, StdioServer) else "update the server at that address"
        yield Level.WARNING, Problem(connection.path, what, fix)


def _of_directories(connection: Connection, entry: str, roots: Mapping[str, int]) -> Iterator[Finding]:
    server = connection.server
    named = server.environment.get("SKILLS_DIR", "") if isinstance(server, StdioServer) else ""
    searched = {os.path.realpath(expand_home(one)) for one in named.split(os.pathsep) if one.strip()}
    if missing := sorted(one for one in searched if not os.path.isdir(one)):
        what = f"{entry} sets SKILLS_DIR to {missing[0]}, which is not a directory"
        yield Level.PROBLEM, Problem(connection.path, what, "correct it, or remove it")
        return
    others = {root: count for root, count in roots.items() if count and os.path.realpath(root) not in searched}
    if searched and others:
        hidden = ", ".join(f"{plural(count, 'skill')} in {root}" for root, count in others.items())
        unknown = sorted(searched - set(map(os.path.realpath, roots)))
        added = f"; `skillhub roots add {shlex.quote(unknown[0])}` serves that too" if unknown else ""
        what = f"{entry} sets SKILLS_DIR, which hides {hidden} from {connection.client.title}"
        yield Level.WARNING, Problem(connection.path, what, f"remove SKILLS_DIR from the entry{added}")


def _fix_of_silence(connection: Connection, command: str) -> str:
    server = connection.server
    if isinstance(server, HttpServer):
        token = f", and set {server.token_variable} where the client starts" if server.token_variable else ""
        return f"start the server at that address, or correct the address{token}"
    if connection.scope is ClientScope.PROJECT:
        # Connecting again would write the same bare command.
        return f"put {COMMANDS[0]} on PATH, or `{disconnecting_command(connection)}`"
    return command


def _same(first: Server | None, second: Server | None) -> bool:
    if isinstance(first, StdioServer) and isinstance(second, StdioServer):
        # Two installations serve the same skills; another environment may serve others.
        return (first.arguments, first.environment) == (second.arguments, second.environment)
    return first == second


def _connect(client: Client, scope: ClientScope, name: str = DEFAULT_NAME) -> str:
    return f"skillhub connect {client.name}{_options(scope, name)}"


def _options(scope: ClientScope, name: str) -> str:
    of_scope = f" --scope {scope.value}" if scope is not ClientScope.USER else ""
    return of_scope + (f" --name {shlex.quote(name)}" if name != DEFAULT_NAME else "")


def _is_below(path: str, directory: str) -> bool:
    return is_at_or_below(os.path.realpath(path), os.path.realpath(directory))
