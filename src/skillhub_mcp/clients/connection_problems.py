"""What is wrong with the connections of clients: decided from what their files say and what their servers answered."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.entries import DEFAULT_NAME
from skillhub_mcp.clients.model import Client, ClientScope, HttpServer, StdioServer
from skillhub_mcp.clients.ownership import COMMANDS, fetches_namesake
from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.clients.registered import RegisteredFile
from skillhub_mcp.environment import expand_home
from skillhub_mcp.skills.problems import Problem

SERVER_NAME = "SkillHub"


@dataclass(frozen=True, slots=True)
class Tried:
    """A connection, and what its server answered; None where it was not started, for the reason `untried`.

    With `by_shell_only`, the command is in no directory that a program started from a desktop has in its PATH, and
    was found in the shell's.
    """

    connection: Connection
    probed: Probed | None = None
    untried: str = ""
    by_shell_only: bool = False

    @property
    def leads_to_us(self) -> bool:
        """Whether it is SkillHub that the connection leads to, as far as that is known."""
        if self.probed is not None and self.probed.answers:
            return self.probed.server_name == SERVER_NAME
        return self.connection.is_ours


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found: what does not work, what works otherwise than its owner may think, and what is good to know."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def file_findings(file: RegisteredFile) -> Findings:
    """Return what is wrong with a file before anything in it is tried."""
    title, command = file.client.title, _connect(file.client, file.scope)
    if file.refusal:
        broken = Problem(
            file.path,
            f"cannot be read as {title}'s file: {file.refusal}",
            f"correct it, then `{command}`"
            if file.names_us
            else f"correct it; until then `{command}` leaves it as it is",
        )
        return Findings(problems=(broken,)) if file.names_us else Findings(warnings=(broken,))
    reads = ".".join(file.client.key)
    return Findings(
        problems=tuple(
            Problem(
                file.path,
                f"has {entry.name!r} under {entry.key!r}, which {title} does not read: it reads {reads!r}",
                "take it out there"
                if file.connections
                else f"take it out there, then `{_connect(file.client, file.scope, entry.name)}`",
            )
            for entry in file.misplaced
        )
    )


def unconnected(client: Client, sign: str) -> Problem:
    """Return that a client is installed here, as `sign` shows, and is not connected."""
    return Problem(sign, f"{client.title} is installed here and not connected", _connect(client, ClientScope.USER))


def connection_findings(tried: Tried, version: str, roots: Mapping[str, int]) -> Findings:
    """Return what is wrong with one connection.

    `version` is this program's. `roots` are the directories that it searches, with the number of their skills.
    """
    connection = tried.connection
    client = connection.client
    command = _connect(client, connection.scope, connection.name)
    entry = f"{client.title}'s entry {connection.name!r}"
    if connection.server is None:
        # Connecting leaves an entry alone that is not known to be ours.
        again = command if connection.is_ours else f"take the entry out, then `{command}`"
        words = [client.stdio.command, *([] if client.http is None else [client.http.url])]
        missing = " or ".join(repr(word) for word in words)
        return _problem(connection, f"{entry} has no {missing} that {client.title} can use", again)
    if isinstance(connection.server, StdioServer) and fetches_namesake(connection.server):
        what = f"{entry} fetches SkillHub's name from the package index, where it is another program's"
        return _problem(connection, what, f"take the entry out, then `{command}`")
    if connection.is_off and connection.is_ours:
        off = Problem(connection.path, f"{entry} is switched off in {client.title}", f"switch it on in {client.title}")
        return Findings(warnings=(off,))
    if tried.probed is None:
        what = f"{entry} was not started: {tried.untried}"
        look = f"look at it; {client.title} asks before it starts it"
        beside = f"`{_connect(client, connection.scope, 'skills')}` adds SkillHub beside it"
        return Findings(notes=(Problem(connection.path, what, look if connection.is_ours else beside),))
    if not tried.probed.answers:
        return _problem(
            connection, f"{entry} does not answer: {tried.probed.failure}", _mend_of_silence(tried, command)
        )
    if tried.probed.server_name != SERVER_NAME:
        who = f"{tried.probed.server_name} {tried.probed.version}".strip()
        return _problem(connection, f"{entry} starts another program: {who}", f"take the entry out, then `{command}`")
    found = (_of_place(tried, command), _of_version(tried, version, command), _of_directories(tried, roots))
    return Findings(
        tuple(problem for one in found for problem in one.problems),
        tuple(problem for one in found for problem in one.warnings),
    )


def misspelt_settings(tried: Tried, guesses: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return the variables that an entry of ours sets and that are no settings: `guesses` has them all, each with the
    question which one is meant.
    """
    server = tried.connection.server
    if not isinstance(server, StdioServer) or not tried.leads_to_us:
        return ()
    entry = f"{tried.connection.client.title}'s entry {tried.connection.name!r}"
    return tuple(
        Problem(
            tried.connection.path,
            f"{entry} sets {name}, which is no setting, and has no effect{guesses[name]}",
            "correct the name there, or take it out",
        )
        for name in sorted({*server.environment, *server.variables} & set(guesses))
    )


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
        if first.client.name == second.client.name and _same(first, second)
    )


def _of_place(tried: Tried, command: str) -> Findings:
    connection = tried.connection
    if not tried.by_shell_only or not isinstance(connection.server, StdioServer):
        return Findings()
    title = connection.client.title
    what = (
        f"{title}'s entry {connection.name!r} starts {connection.server.command!r}, which your shell finds, and "
        f"{title} does not where it is started from the desktop"
    )
    if connection.scope is ClientScope.USER:
        return _problem(connection, what, f"`{command}` writes the absolute path")
    return Findings(warnings=(Problem(connection.path, what, f"start {title} from a shell"),))


def _of_version(tried: Tried, version: str, command: str) -> Findings:
    answered = "" if tried.probed is None else tried.probed.version
    # A bundle's version has a label.
    if answered.partition("+")[0] == version.partition("+")[0]:
        return Findings()
    connection = tried.connection
    what = f"{connection.client.title}'s entry {connection.name!r} runs SkillHub {answered}; this is {version}"
    fix = command if isinstance(connection.server, StdioServer) else "update the server at that address"
    return Findings(warnings=(Problem(connection.path, what, fix),))


def _of_directories(tried: Tried, roots: Mapping[str, int]) -> Findings:
    connection = tried.connection
    server = connection.server
    named = server.environment.get("SKILLS_DIR", "") if isinstance(server, StdioServer) else ""
    if not named:
        return Findings()
    about = f"{connection.client.title}'s entry {connection.name!r} sets SKILLS_DIR"
    searched = {os.path.realpath(expand_home(one)) for one in named.split(os.pathsep) if one.strip()}
    missing = sorted(one for one in searched if not os.path.isdir(one))
    if missing:
        return _problem(connection, f"{about} to {missing[0]}, which is no directory", "correct it, or take it out")
    places = {os.path.realpath(root): root for root in roots}
    hidden = [f"{roots[root]:,} in {root}" for place, root in places.items() if roots[root] and place not in searched]
    if not hidden:
        return Findings()
    what = f"{about}, and so {connection.client.title} sees none of the skills elsewhere: {', '.join(hidden)}"
    unknown = sorted(searched - set(places))
    added = f"; `skillhub roots add {shlex.quote(unknown[0])}` serves that too" if unknown else ""
    fix = f"take SKILLS_DIR out of the entry{added}"
    return Findings(warnings=(Problem(connection.path, what, fix),))


def _mend_of_silence(tried: Tried, command: str) -> str:
    server = tried.connection.server
    if isinstance(server, HttpServer):
        token = f", and set {server.token_variable} where the client starts" if server.token_variable else ""
        return f"start the server at that address, or correct the address{token}"
    if tried.connection.scope is ClientScope.PROJECT:
        # Connecting again would write the same bare command.
        return f"put {COMMANDS[0]} on PATH, or `{disconnecting_command(tried.connection)}`"
    return command


def _same(first: Connection, second: Connection) -> bool:
    if isinstance(first.server, HttpServer) or isinstance(second.server, HttpServer):
        return first.server == second.server
    # Two installations of the program are one server to the model; another environment makes another library.
    return (
        first.server is not None
        and second.server is not None
        and first.server.arguments == second.server.arguments
        and first.server.environment == second.server.environment
    )


def _problem(connection: Connection, what: str, fix: str) -> Findings:
    return Findings(problems=(Problem(connection.path, what, fix),))


def _connect(client: Client, scope: ClientScope, name: str = DEFAULT_NAME) -> str:
    return f"skillhub connect {client.name}{_options(scope, name)}"


def disconnecting_command(connection: Connection) -> str:
    """Return what a person types to take a connection out."""
    return f"skillhub disconnect {connection.client.name}{_options(connection.scope, connection.name)}"


def _options(scope: ClientScope, name: str) -> str:
    of_scope = f" --scope {scope.value}" if scope is not ClientScope.USER else ""
    return of_scope + (f" --name {shlex.quote(name)}" if name != DEFAULT_NAME else "")
