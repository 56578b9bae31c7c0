"""Find the entries for SkillHub in the files of all clients, also under keys that a client does not read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillhub_mcp.clients.connections import Connection, Connections
from skillhub_mcp.clients.editing import entries_in
from skillhub_mcp.clients.entries import DEFAULT_NAME, server_of
from skillhub_mcp.clients.files import read_client_file
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientScope, EntryValue
from skillhub_mcp.clients.ownership import starts_skillhub
from skillhub_mcp.clients.splice import InvalidText
from skillhub_mcp.clients.table import CLIENTS
from skillhub_mcp.errors import ClientFileRefused


@dataclass(frozen=True, slots=True)
class MisplacedEntry:
    """An entry for SkillHub under a key that its client does not read, such as `mcp.servers`."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class RegisteredFile:
    """A client's file, and what in it concerns SkillHub.

    `refusal` says why the file cannot be read, and `names_us` whether its text contains our name.
    """

    client: Client
    scope: ClientScope
    path: str
    connections: tuple[Connection, ...] = ()
    misplaced: tuple[MisplacedEntry, ...] = ()
    refusal: str = ""
    names_us: bool = False


def registered_files(machine: Machine) -> list[RegisteredFile]:
    """Return every client's file, of the user and of the project, that concerns SkillHub or cannot be read.

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
            file = _read(connections, client, scope, path, machine)
            if file.connections or file.misplaced or file.refusal:
                found.append(file)
    return found


def _read(connections: Connections, client: Client, scope: ClientScope, path: str, machine: Machine) -> RegisteredFile:
    names_us = False
    try:
        file = read_client_file(path)
        names_us = DEFAULT_NAME.encode() in (file.content or b"")
        ours = connections.found(client, scope)
        if client.registrar and scope is ClientScope.USER:
            # Its program also registers servers for one project, in the same file.
            ours += connections.found(replace(client, key=("projects", machine.project, *client.key)), scope)
        return RegisteredFile(client, scope, path, tuple(ours), tuple(_misplaced(client, file.text)), names_us=names_us)
    except ClientFileRefused as error:
        return RegisteredFile(client, scope, path, refusal=error.reason, names_us=names_us)


def _misplaced(client: Client, text: str) -> Iterator[MisplacedEntry]:
    for key in dict.fromkeys(other.key for other in CLIENTS if other.key != client.key):
        try:
            entries = entries_in(replace(client, key=key), text)
        except InvalidText:
            # Not a list of servers.
            continue
        yield from (MisplacedEntry(name, ".".join(key)) for name, entry in entries.items() if _is_ours(name, entry))


def _is_ours(name: str, entry: EntryValue) -> bool:
    """Whether an entry, in the format of any client, starts SkillHub, or has its name and is a server."""
    servers = [server_of(client, entry) for client in CLIENTS] if isinstance(entry, dict) else []
    return any(map(starts_skillhub, servers)) or (name == DEFAULT_NAME and any(servers))
