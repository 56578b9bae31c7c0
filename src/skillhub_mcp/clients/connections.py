"""Plan how to connect or disconnect a client, and carry the plan out.

Planning changes nothing; a plan is carried out only if the file is still what was read.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from skillhub_mcp.clients.backups import Backup, Backups, digest_of
from skillhub_mcp.clients.editing import entries_in, is_switched_off, whole_file, with_entry, without_entry
from skillhub_mcp.clients.entries import DEFAULT_NAME, entry_of, server_of
from skillhub_mcp.clients.files import (
    FileAsRead,
    read_client_file,
    refuse_changed,
    refuse_read_only,
    replace_client_file,
)
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientEntry, ClientScope, EntryValue, HttpServer, Server
from skillhub_mcp.clients.ownership import merged, starts_skillhub
from skillhub_mcp.clients.splice import InvalidText
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument

_T = TypeVar("_T")
_OTHER = "its entry {!r} belongs to another program"


class ChangeKind(str, Enum):
    """The state of a client after a change."""

    CONNECT = "connected"
    UPDATE = "updated"
    DISCONNECT = "disconnected"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for the entry `name` in the client's file at `path`; a plan of this class itself changes nothing.

    `server` is the one that `entry` then leads to, if any; `hint` says how to change it anyway. `is_off`: the client
    has the entry switched off.
    """

    client: Client
    scope: ClientScope
    name: str
    path: str = ""
    server: Server | None = None
    entry: ClientEntry | None = None
    is_off: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange(Plan):
    """A client's file gets the bytes `after`; with None it is removed."""

    kind: ChangeKind
    file: FileAsRead
    after: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Plan):
    """Commands of the client's own program change its file, which SkillHub does not write."""

    kind: ChangeKind
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPaste(Plan):
    """The user pastes a text."""

    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Connection:
    """An entry of a client's file that starts SkillHub, or has its name.

    `server` is None if the client cannot use the entry. `is_ours`: it starts SkillHub, or `connect` wrote it
    (`was_written_here`). `is_off`: the client has it switched off.
    """

    client: Client
    scope: ClientScope
    path: str
    name: str
    server: Server | None
    is_ours: bool
    was_written_here: bool = False
    is_off: bool = False


class Connections:
    """Connects and disconnects the clients of one machine, whose `home` keeps the backups."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._backups = Backups(os.path.join(machine.home, ".skillhub", "backups"))

    def path_of(self, client: Client, scope: ClientScope) -> str | None:
        """Return the path of the client's file of a scope, also one that is only read; None if it has none."""
        candidates = client.files(scope, self._machine)
        return next((path for path in reversed(candidates) if os.path.lexists(path)), next(iter(candidates), None))

    def found(self, client: Client, scope: ClientScope, *, name: str = DEFAULT_NAME) -> list[Connection]:
        """Return every entry of a client's file that starts SkillHub or has the name. Raises ClientFileRefused."""
        path = self.path_of(client, scope)
        if path is None:
            return []
        file = read_client_file(path)
        return [
            self._connection(client, scope, file, key, entry)
            for key, entry in _entries(client, file).items()
            if key == name or starts_skillhub(server_of(client, entry))
        ]

    def plan(
        self,
        client: Client,
        scope: ClientScope,
        server: Server,
        *,
        name: str = DEFAULT_NAME,
        registrar: str | None,
        replaces_address: bool = True,
    ) -> Plan:
        """Return the plan that connects `client` to `server`. Raises InvalidArgument, ClientFileRefused.

        `registrar` is the path of the client's own program, if it is installed. Without `replaces_address`, our
        entry for a running server is not replaced by one for a server that the client starts.
        """
        entry = entry_of(client, server, name=name)
        if client.is_printed:
            return ToPaste(client, scope, name, text=whole_file(client, server, name=name), where=client.where)
        path = self.path_of(client, scope)
        if path is None:
            raise no_file_of(client, scope)
        file = self._read(path, scope)
        entries = _entries(client, file)
        kind = ChangeKind.CONNECT
        if name in entries:
            kind, old = ChangeKind.UPDATE, self._connection(client, scope, file, name, entries[name])
            if not old.is_ours:
                hint = "`--name skills` connects SkillHub beside it"
                raise ClientFileRefused(path, _OTHER.format(name), hint=hint, name_taken=True)
            entry = merged(client, entries[name], entry)
            now = old.server
            keeps_address = not replaces_address and isinstance(now, HttpServer) and not isinstance(server, HttpServer)
            if entries[name] == entry or keeps_address:
                hint = f"it uses the server at {now}; `--stdio` makes it start its own" if keeps_address else ""
                return Plan(client, scope, name, path, now, is_off=old.is_off, hint=hint)
        wanted = server_of(client, entry)
        if client.registrar and scope is ClientScope.USER:
            commands = [["add-json", "--scope", "user", name, json.dumps(entry, ensure_ascii=False)]]
            if name in entries:
                commands.insert(0, ["remove", "--scope", "user", name])
            return _registration(Plan(client, scope, name, path, wanted, entry), kind, commands, registrar)
        after = _checked(file, lambda: with_entry(client, file.text, name, entry).encode())
        refuse_read_only(file)
        is_off = is_switched_off(client, after.decode(), name)
        return FileChange(client, scope, name, path, wanted, entry, is_off, kind=kind, file=file, after=after)

    def plan_removal(
        self, client: Client, scope: ClientScope, *, name: str = DEFAULT_NAME, registrar: str | None
    ) -> Plan:
        """Return the plan that removes our entry from a client's file. Raises ClientFileRefused.

        A file without later changes by others is restored; from any other file, only our entry is removed.
        """
        if client.is_printed:
            raise ClientFileRefused(client.where, "its entry was printed: remove it by hand")
        path = self.path_of(client, scope)
        if path is None:
            return Plan(client, scope, name)
        file = self._read(path, scope)
        entries = _entries(client, file)
        if name not in entries:
            return Plan(client, scope, name, path)
        if not self._connection(client, scope, file, name, entries[name]).is_ours:
            raise ClientFileRefused(path, _OTHER.format(name))
        kind = ChangeKind.DISCONNECT
        if client.registrar and scope is ClientScope.USER:
            commands = [["remove", "--scope", "user", name]]
            return _registration(Plan(client, scope, name, path), kind, commands, registrar)
        refuse_read_only(file)
        original = self._backups.original(file.place, name, file.content)
        if original is not None:
            after = original.content()
            # If the file had an older entry of ours, restoring it would not disconnect.
            if after is None or name not in _entries(client, replace(file, content=after)):
                return FileChange(client, scope, name, path, kind=kind, file=file, after=after)
        after = _checked(file, lambda: without_entry(client, file.text, name).encode())
        return FileChange(client, scope, name, path, kind=kind, file=file, after=after)

    def carry_out(self, change: FileChange) -> None:
        """Back up the file and write a planned change. Raises ClientFileRefused."""
        file = change.file
        refuse_changed(file)
        after = "" if change.after is None else digest_of(change.after)
        existed = file.content is not None
        self._keep(Backup(file.place, existed, change.name, change.entry, after), file.content)
        replace_client_file(file, change.after)

    def note_registration(self, registration: Registration) -> None:
        """Record an entry that a client's own program registered or removed. Raises ClientFileRefused."""
        place = os.path.realpath(registration.path)
        self._keep(Backup(place, existed=False, name=registration.name, entry=registration.entry), None)

    def _keep(self, change: Backup, before: bytes | None) -> None:
        try:
            self._backups.keep(change, before)
        except OSError as error:
            reason = f"it cannot be backed up in {self._machine.home}/.skillhub: {error.strerror}"
            raise ClientFileRefused(change.path, reason) from error

    def _read(self, path: str, scope: ClientScope) -> FileAsRead:
        """Return a file that may be changed. Raises ClientFileRefused, also for a project's link that leaves it."""
        file = read_client_file(path)
        project = os.path.join(os.path.realpath(self._machine.project), "")
        if scope is ClientScope.PROJECT and not file.place.startswith(project):
            raise ClientFileRefused(path, f"it is a link to {file.place}, which is outside the project")
        return file

    def _connection(
        self, client: Client, scope: ClientScope, file: FileAsRead, name: str, entry: EntryValue
    ) -> Connection:
        server = server_of(client, entry)
        # An address alone does not say what answers there.
        written = server is not None and any(
            backup.name == name and server == server_of(client, backup.entry) for backup in self._backups.of(file.place)
        )
        is_off = is_switched_off(client, file.text, name)
        is_ours = starts_skillhub(server) or written
        return Connection(client, scope, file.path, name, server, is_ours, written, is_off)


def _entries(client: Client, file: FileAsRead) -> Mapping[str, EntryValue]:
    return _checked(file, lambda: entries_in(client, file.text))


def _checked(file: FileAsRead, work: Callable[[], _T]) -> _T:
    try:
        return work()
    # A path that is not UTF-8 cannot be encoded.
    except (InvalidText, UnicodeEncodeError) as error:
        raise ClientFileRefused(file.path, str(error), hint="correct it, and run the command again") from error


def _registration(
    plan: Plan, kind: ChangeKind, commands: Sequence[Sequence[str]], registrar: str | None
) -> Registration | ToPaste:
    """Return the commands of the client's own program, to run, or to print if it is not installed."""
    client = plan.client
    typed = tuple((registrar or client.registrar, "mcp", *command) for command in commands)
    if registrar is None:
        text = "".join(f"{shlex.join(command)}\n" for command in typed)
        return ToPaste(client, plan.scope, plan.name, text=text, where=f"a shell that finds `{client.registrar}`")
    return Registration(client, plan.scope, plan.name, plan.path, plan.server, plan.entry, kind=kind, commands=typed)


def no_file_of(client: Client, scope: ClientScope) -> InvalidArgument:
    """Return the error for a client that has no file of a scope."""
    whose = "of a project" if scope is ClientScope.PROJECT else "of the user"
    return InvalidArgument(
        "--scope",
        f"{scope.value} cannot be used with {client.title}: it has no file {whose} here",
        hint="leave --scope out",
    )
