"""Connecting a client: what would change, worked out from its file, and then the change itself.

Planning reads and writes nothing else; a plan is carried out only if the file is still what was read.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, TypeVar

from skillhub_mcp.clients.backups import Backups
from skillhub_mcp.clients.editing import entries_in, is_switched_off, with_entry, without_entry
from skillhub_mcp.clients.entries import DEFAULT_NAME, entry_of, server_of
from skillhub_mcp.clients.files import (
    FileAsRead,
    last_that_exists,
    missing_directories,
    read_client_file,
    refuse_changed,
    refuse_unwritable,
    remove_client_file,
    write_client_file,
)
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, ClientEntry, ClientScope, EntryValue, HttpServer, Server
from skillhub_mcp.clients.originals import Original, Originals, digest_of
from skillhub_mcp.clients.ownership import merged, starts_skillhub
from skillhub_mcp.clients.snippets import file_with
from skillhub_mcp.clients.splice import InvalidText
from skillhub_mcp.errors import ClientFileRefused, InvalidArgument

_T = TypeVar("_T")
_OWN_DIRECTORY = ".skillhub"


class ChangeKind(str, Enum):
    """What a change does to a client's file."""

    CONNECT = "connect"
    UPDATE = "update"
    DISCONNECT = "disconnect"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A client's file, and the bytes that it is to have; None where it is to go."""

    client: Client
    scope: ClientScope
    name: str
    kind: ChangeKind
    file: FileAsRead
    after: bytes | None
    server: Server | None = None
    entry: ClientEntry | None = None
    directories: tuple[str, ...] = ()
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class Registration:
    """Commands of a client's own program that do what we would, in its file that is not ours to write."""

    client: Client
    scope: ClientScope
    name: str
    kind: ChangeKind
    path: str
    commands: tuple[tuple[str, ...], ...]
    server: Server | None = None
    entry: ClientEntry | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing is to be done: the file already is as wanted. `server` is the one that it leads to, if any.

    `hint` is what does what was left undone: the entry of a server that is running stays as it is.
    """

    client: Client
    scope: ClientScope
    name: str
    path: str
    server: Server | None = None
    hint: str = ""
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class ToPaste:
    """What a person puts in a place that is not ours to write: the text, and where it goes."""

    client: Client
    scope: ClientScope
    name: str
    text: str
    where: str


Plan: TypeAlias = FileChange | Registration | Settled | ToPaste


@dataclass(frozen=True, slots=True)
class Connection:
    """An entry of a client's file that leads to SkillHub, or has its name.

    `server` is None where the client could not use the entry. `is_ours` says whether it starts SkillHub, or leads to
    what we wrote there, which `was_written_here` says. One that `is_off` is switched off in the client.
    """

    client: Client
    scope: ClientScope
    path: str
    name: str
    entry: EntryValue
    server: Server | None
    is_ours: bool
    was_written_here: bool = False
    is_off: bool = False


class Connections:
    """Connects and disconnects the clients of one machine, whose `home` keeps copies and originals."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._own = os.path.join(machine.home, _OWN_DIRECTORY)
        self._backups = Backups(os.path.join(self._own, "backups"))
        self._originals = Originals(os.path.join(self._own, "originals"))

    def path_of(self, client: Client, scope: ClientScope) -> str | None:
        """Return the path of the client's file of a scope, also one that is only read; None where it has none."""
        candidates = client.files(scope, self._machine)
        if not candidates and scope is ClientScope.USER:
            candidates = client.registry_files(self._machine)
        return last_that_exists(candidates) if candidates else None

    def found(self, client: Client, scope: ClientScope, *, name: str = DEFAULT_NAME) -> list[Connection]:
        """Return every entry of a client's file that starts SkillHub or has the name. Raises ClientFileRefused."""
        path = self.path_of(client, scope)
        if path is None:
            return []
        found = []
        file = read_client_file(path)
        for key, entry in self._entries(client, file).items():
            server = server_of(client, entry) if isinstance(entry, dict) else None
            if key == name or starts_skillhub(server):
                written = self._was_ours(client, path, key, entry)
                is_ours = starts_skillhub(server) or written
                is_off = is_switched_off(client, file.text, key)
                found.append(Connection(client, scope, path, key, entry, server, is_ours, written, is_off))
        return found

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
        """Return what connects `client` to `server`.

        `registrar` is the path of the client's own program, if it is installed. Without `replaces_address` an entry of
        ours for a server that is running does not become one for a server that the client starts. Raises
        InvalidArgument where the client cannot have this connection, and ClientFileRefused where its file is to be left
        alone.
        """
        entry = entry_of(client, server, name=name)
        if client.is_printed:
            return ToPaste(client, scope, name, file_with(client, name, entry), client.where)
        if client.registrar and scope is ClientScope.USER:
            return self._plan_registration(client, name, entry, registrar, replaces_address=replaces_address)
        path = self.path_of(client, scope)
        if path is None:
            raise no_file_of(client, scope)
        file = self._read(path, scope)
        entries = self._entries(client, file)
        kind = ChangeKind.UPDATE if name in entries else ChangeKind.CONNECT
        if name in entries:
            entry = self._update(client, file, name, entries[name], entry)
            if settled := _settled(client, scope, name, path, entries[name], entry, replaces_address=replaces_address):
                return replace(settled, is_off=is_switched_off(client, file.text, name))
        changed = self._changed(file, lambda: with_entry(client, file.text, name, entry))
        refuse_unwritable(file)
        is_off = is_switched_off(client, changed, name)
        after = _encoded(file, changed)
        return FileChange(client, scope, name, kind, file, after, server_of(client, entry), entry, is_off=is_off)

    def plan_removal(
        self, client: Client, scope: ClientScope, *, name: str = DEFAULT_NAME, registrar: str | None
    ) -> Plan:
        """Return what takes our entry out of a client's file. Raises ClientFileRefused, as `plan` does.

        A file that nobody touched since gets its bytes back; of another one, only our entry goes.
        """
        _refuse_printed(client)
        path = self.path_of(client, scope)
        if path is None:
            return Settled(client, scope, name, "")
        file = self._read(path, scope)
        entries = self._entries(client, file)
        if name not in entries:
            return Settled(client, scope, name, path)
        if not self._is_ours(client, file.place, name, entries[name]):
            raise ClientFileRefused(path, f"{name!r} in it is something else than SkillHub")
        if client.registrar and scope is ClientScope.USER:
            command = (client.registrar, "mcp", "remove", "--scope", "user", name)
            if registrar is None:
                return ToPaste(client, scope, name, _typed([command]), f"a shell that finds `{client.registrar}`")
            return Registration(client, scope, name, ChangeKind.DISCONNECT, path, ((registrar, *command[1:]),))
        refuse_unwritable(file)
        original = self._originals.read(file.place, name)
        if original is not None and original.is_of(file.content) and not self._had_it(client, file, name, original):
            return FileChange(
                client, scope, name, ChangeKind.DISCONNECT, file, original.before, directories=original.directories
            )
        after = _encoded(file, self._changed(file, lambda: without_entry(client, file.text, name)))
        return FileChange(client, scope, name, ChangeKind.DISCONNECT, file, after)

    def plan_restoration(self, client: Client, scope: ClientScope) -> Plan:
        """Return what gives a client's file back as the newest copy has it. Raises ClientFileRefused without one."""
        _refuse_printed(client)
        path = self.path_of(client, scope) if client.files(scope, self._machine) else None
        if path is None:
            return Settled(client, scope, "", "")
        file = self._read(path, scope)
        backup = self._backups.newest(file.place)
        if backup is None:
            raise ClientFileRefused(path, "there is no copy of it")
        try:
            after = backup.content()
        except OSError as error:
            raise ClientFileRefused(path, f"its copy {backup.copy} cannot be read: {error.strerror}") from error
        if after == file.content:
            return Settled(client, scope, "", path)
        refuse_unwritable(file)
        return FileChange(client, scope, "", ChangeKind.RESTORE, file, after)

    def carry_out(self, change: FileChange) -> None:
        """Write a change that was planned, with a copy of what was there. Raises ClientFileRefused."""
        file = change.file
        refuse_changed(file)
        try:
            if file.content is not None:
                self._backups.keep(file.place, file.content)
            earlier = self._originals.read(file.place, change.name)
            if change.entry is not None and change.after is not None:
                # Before the file is written: where no original can be kept, nothing is changed.
                self._originals.write(file.place, change.name, _original(change, change.entry, change.after, earlier))
        except OSError as error:
            raise ClientFileRefused(file.path, f"no copy of it can be kept in {self._own}: {error.strerror}") from error
        if change.after is None:
            remove_client_file(file, change.directories)
        else:
            self._write(change, change.after, earlier)
        if change.entry is None and change.name:
            # One that stays is of no file any more.
            with contextlib.suppress(OSError):
                self._originals.remove(file.place, change.name)

    def _write(self, change: FileChange, after: bytes, earlier: Original | None) -> None:
        try:
            write_client_file(change.file, after)
        except ClientFileRefused:
            if change.entry is not None:
                with contextlib.suppress(OSError):
                    self._originals.remove(change.file.place, change.name)
                    if earlier is not None:
                        self._originals.write(change.file.place, change.name, earlier)
            raise

    def note_registration(self, registration: Registration) -> None:
        """Remember what a client's own program has registered, or forget what it removed. Raises ClientFileRefused."""
        place = os.path.realpath(registration.path)
        try:
            if registration.entry is None:
                self._originals.remove(place, registration.name)
            else:
                # Of the program's file there is nothing to give back.
                self._originals.write(place, registration.name, Original(None, "", registration.entry))
        except OSError as error:
            raise ClientFileRefused(
                registration.path, f"no original can be kept in {self._own}: {error.strerror}"
            ) from error

    def _read(self, path: str, scope: ClientScope) -> FileAsRead:
        """Return a file that may be changed. Raises ClientFileRefused, also for a project's link that leaves it."""
        file = read_client_file(path)
        project = os.path.join(os.path.realpath(self._machine.project), "")
        if scope is ClientScope.PROJECT and not file.place.startswith(project):
            raise ClientFileRefused(path, f"it is a link to {file.place}, which is outside the project")
        return file

    def _plan_registration(
        self, client: Client, name: str, entry: ClientEntry, registrar: str | None, *, replaces_address: bool
    ) -> Plan:
        path = self.path_of(client, ClientScope.USER) or ""
        file = read_client_file(path)
        entries = self._entries(client, file)
        if name in entries:
            entry = self._update(client, file, name, entries[name], entry)
            old, scope = entries[name], ClientScope.USER
            if settled := _settled(client, scope, name, path, old, entry, replaces_address=replaces_address):
                return settled
        removing = (client.registrar, "mcp", "remove", "--scope", "user", name)
        adding = (client.registrar, "mcp", "add-json", "--scope", "user", name, json.dumps(entry, ensure_ascii=False))
        commands = [removing, adding] if name in entries else [adding]
        if registrar is None:
            return ToPaste(client, ClientScope.USER, name, _typed(commands), f"a shell that finds `{client.registrar}`")
        return Registration(
            client,
            ClientScope.USER,
            name,
            ChangeKind.UPDATE if name in entries else ChangeKind.CONNECT,
            path,
            tuple((registrar, *command[1:]) for command in commands),
            server_of(client, entry),
            entry,
        )

    def _entries(self, client: Client, file: FileAsRead) -> Mapping[str, EntryValue]:
        return self._changed(file, lambda: entries_in(client, file.text))

    def _update(self, client: Client, file: FileAsRead, name: str, old: EntryValue, entry: ClientEntry) -> ClientEntry:
        if not self._is_ours(client, file.place, name, old):
            raise ClientFileRefused(
                file.path,
                f"{name!r} in it is something else than SkillHub",
                hint="with `--name skills` SkillHub is connected beside it",
                name_taken=True,
            )
        return merged(client, old, entry)

    def _is_ours(self, client: Client, place: str, name: str, entry: EntryValue) -> bool:
        server = server_of(client, entry) if isinstance(entry, dict) else None
        return starts_skillhub(server) or self._was_ours(client, place, name, entry)

    def _was_ours(self, client: Client, path: str, name: str, entry: EntryValue) -> bool:
        """Whether an entry leads to what we wrote there: one for an address says nothing about what answers there."""
        original = self._originals.read(os.path.realpath(path), name)
        if original is None or not isinstance(entry, dict):
            return False
        written = server_of(client, original.entry)
        return written is not None and written == server_of(client, entry)

    def _had_it(self, client: Client, file: FileAsRead, name: str, original: Original) -> bool:
        """Whether the bytes of an original have an entry of that name already, so that they would not disconnect."""
        if original.before is None:
            return False
        return name in self._entries(client, replace(file, content=original.before))

    @staticmethod
    def _changed(file: FileAsRead, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except InvalidText as error:
            raise ClientFileRefused(file.path, str(error), hint="correct it, and run the command again") from error


def _settled(
    client: Client,
    scope: ClientScope,
    name: str,
    path: str,
    old: EntryValue,
    new: ClientEntry,
    *,
    replaces_address: bool,
) -> Settled | None:
    """Return that the old entry stays, where it is the new one, or for an address that is not to be replaced."""
    if old == new:
        return Settled(client, scope, name, path, server_of(client, new))
    server = server_of(client, old) if isinstance(old, dict) else None
    if replaces_address or not isinstance(server, HttpServer) or isinstance(server_of(client, new), HttpServer):
        return None
    hint = f"it uses the server at {server}; with `--stdio` it starts one of its own"
    return Settled(client, scope, name, path, server, hint)


def _refuse_printed(client: Client) -> None:
    if client.is_printed:
        raise ClientFileRefused(client.where, "what was printed for it is taken out by hand")


def no_file_of(client: Client, scope: ClientScope) -> InvalidArgument:
    """Return the error for a client that has no file of a scope."""
    whose = "of a project" if scope is ClientScope.PROJECT else "of the user"
    return InvalidArgument(
        "--scope",
        f"{scope.value} cannot be used with {client.title}: it has no file {whose} here",
        hint="leave --scope out",
    )


def _original(change: FileChange, entry: ClientEntry, after: bytes, earlier: Original | None) -> Original:
    """Return the original of a change: of two in a row, the first knows what was there before."""
    directories = missing_directories(os.path.dirname(change.file.place))
    original = Original(change.file.content, digest_of(after), entry, directories)
    if earlier is not None and earlier.is_of(change.file.content):
        return replace(original, before=earlier.before, directories=earlier.directories)
    return original


def _encoded(file: FileAsRead, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ClientFileRefused(file.path, "the command's path cannot be written in UTF-8") from error


def _typed(commands: Sequence[Sequence[str]]) -> str:
    """Return commands as a person types them in a shell."""
    import shlex

    return "".join(f"{shlex.join(command)}\n" for command in commands)
