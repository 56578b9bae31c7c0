"""Find the entries for SkillHub in the files of all clients, also under keys that a client does not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from skillhub_mcp.clients.connections import Connection, Connections
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientScope
from skillhub_mcp.clients.table import CLIENTS
from skillhub_mcp.errors import ClientFileRefused


@dataclass(frozen=True, slots=True)
class RegisteredFile:
    """A client's file with its connections to SkillHub; `refusal` says why it cannot be read.

    `misplaced` are keys such as `mcpServers` that have an entry for SkillHub and that the client does not read.
    """

    client: Client
    scope: ClientScope
    path: str
    connections: tuple[Connection, ...] = ()
    misplaced: tuple[str, ...] = ()
    refusal: str = ""


def registered_files(machine: Machine) -> list[RegisteredFile]:
    """Return every client's file, of the user and of the project, that names SkillHub or cannot be read.

    A file that two clients share is reported for the first.
    """
    connections = Connections(machine)
    found: list[RegisteredFile] = []
    seen: set[str] = set()
    for client in CLIENTS:
        for scope in ClientScope:
            path = connections.path_of(client, scope)
            if path is None or not os.path.lexists(path) or os.path.realpath(path) in seen:
                continue
            seen.add(os.path.realpath(path))
            try:
                ours = connections.found(client, scope)
                if client.registrar and scope is ClientScope.USER:
                    # Its program also registers servers for one project, in the same file.
                    ours += connections.found(replace(client, key=("projects", machine.project, *client.key)), scope)
                file = RegisteredFile(client, scope, path, tuple(ours), tuple(_misplaced(connections, client, scope)))
            except ClientFileRefused as error:
                file = RegisteredFile(client, scope, path, refusal=error.reason)
            if file.connections or file.misplaced or file.refusal:
                found.append(file)
    return found


def _misplaced(connections: Connections, client: Client, scope: ClientScope) -> Iterator[str]:
    for key in dict.fromkeys(other.key for other in CLIENTS if other.key != client.key):
        # What another client keeps there may be no list of servers here.
        with suppress(ClientFileRefused):
            if any(one.is_ours for one in connections.found(replace(client, key=key), scope)):
                yield ".".join(key)
