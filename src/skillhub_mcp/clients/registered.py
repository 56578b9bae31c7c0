"""What is registered with each client: the entries that lead to SkillHub, and those that lie where no client looks."""

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
    """An entry for SkillHub under a key that its client does not read, written as `mcpServers` or `mcp.servers`."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class RegisteredFile:
    """A client's file, and what in it concerns SkillHub.

    Where the file cannot be read, `refusal` says why, and `names_us` whether the text has our name in it.
    """

    client: Client
    scope: ClientScope
    path: str
    connections: tuple[Connection, ...] = ()
    misplaced: tuple[MisplacedEntry, ...] = ()
    refusal: str = ""
    names_us: bool = False


def registered_files(machine: Machine) -> list[RegisteredFile]:
    """Return every client's file, of the user and of the project, that has to do with SkillHub or cannot be read.

    A file that two clients share is told of the first.
    """
    connections = Connections(machine)
    found: list[RegisteredFile] = []
    seen: set[str] = set()
    for client in CLIENTS:
        for scope in ClientScope:
            path = connections.path_of(client, scope)
            place = os.path.realpath(path) if path else ""
            if path is None or place in seen or not os.path.lexists(path):
                continue
            seen.add(place)
            file = _read(connections, client, scope, path, machine)
            if file.connections or file.misplaced or file.refusal:
                found.append(file)
    return found


def _read(connections: Connections, client: Client, scope: ClientScope, path: str, machine: Machine) -> RegisteredFile:
    names_us = False
    try:
        file = read_client_file(path)
        names_us = DEFAULT_NAME.encode() in (file.content or b"")
        ours = list(connections.found(client, scope))
        if client.registrar and scope is ClientScope.USER:
            ours += connections.found(_in_this_project(client, machine), scope)
        return RegisteredFile(client, scope, path, tuple(ours), tuple(_misplaced(client, file.text)), names_us=names_us)
    except ClientFileRefused as error:
        return RegisteredFile(client, scope, path, refusal=error.reason, names_us=names_us)


def _in_this_project(client: Client, machine: Machine) -> Client:
    """Return the client as it keeps what its own program registered for the user in this one project."""
    return replace(client, key=("projects", machine.project, *client.key))


def _misplaced(client: Client, text: str) -> Iterator[MisplacedEntry]:
    for key in dict.fromkeys(other.key for other in CLIENTS if other.key != client.key):
        try:
            entries = entries_in(replace(client, key=key), text)
        except InvalidText:
            # Whatever this is, it is no list of servers.
            continue
        for name, entry in entries.items():
            if _leads_to_us(name, entry):
                yield MisplacedEntry(name, ".".join(key))


def _leads_to_us(name: str, entry: EntryValue) -> bool:
    """Whether an entry, in the words of any client, starts SkillHub, or has its name and is a server at all."""
    if not isinstance(entry, dict):
        return False
    servers = [server_of(client, entry) for client in CLIENTS]
    return any(map(starts_skillhub, servers)) or (name == DEFAULT_NAME and any(servers))
