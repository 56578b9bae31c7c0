"""The description of a client: where its files are, and how it writes a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, Union

from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.redaction import redacted

EntryValue: TypeAlias = Union[str, int, float, bool, "list[EntryValue]", "dict[str, EntryValue]", None]
ClientEntry: TypeAlias = "dict[str, EntryValue]"


class FileFormat(str, Enum):
    """The format of a client's file. JSON may have comments; YAML is only printed."""

    JSON = "json"
    TOML = "toml"
    YAML = "yaml"


class ClientScope(str, Enum):
    """Whether a connection is the user's, in every project, or one project's, for all who work on it."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that a client starts.

    `environment` has values; `variables` are names whose values the client takes from its own environment.
    """

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at `url`; `token_variable` is the variable that holds the bearer token, if any."""

    url: str
    token_variable: str = ""

    def __str__(self) -> str:
        return redacted(self.url)


Server: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class StdioShape:
    """How a client writes a server that it starts: the names of the members, and members with a fixed value.

    With `command_is_list`, `command` holds the command and its arguments.
    """

    fixed: Mapping[str, EntryValue] = field(default_factory=dict)
    command: str = "command"
    environment: str = "env"
    command_is_list: bool = False


@dataclass(frozen=True, slots=True)
class HttpShape:
    """How a client writes a server at an address: the name of that member, and members with a fixed value."""

    url: str = "url"
    fixed: Mapping[str, EntryValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VariableStyle:
    """How a client's file names an environment variable, so that a secret stays out of it.

    `reference` is the text for a value, with NAME for the variable. If the client lists names instead, `names_member`
    lists them, and `token_member` names the variable of a bearer token.
    """

    reference: str = ""
    names_member: str = ""
    token_member: str = ""

    @property
    def can_name(self) -> bool:
        """Whether the client can take a value from its environment."""
        return bool(self.reference or self.names_member)


@dataclass(frozen=True, slots=True)
class Client:
    """One client, a row of the table.

    Its own files are below `directory`, or the directory that the variable `moved_by` names. `user_files` and
    `project_files` are the candidates for its file of a scope: the last that exists, else the first. It is installed if
    `sign` is in its directory, or one of the `programs` is on PATH.
    `registrar` is the client's own program that registers servers, if SkillHub does not write the user's file.
    `where` says where to paste an entry that is only printed, `then` what makes the client read its file.
    `link` adds a server: NAME and BASE64 stand for its name and entry, JSON for both.
    Besides an entry's own `disabled` or `enabled`, the lists at `excludes` switch servers off by name, and those at
    `allows` every server that they do not name.
    A project's file names the project by `workspace`, if the client expands that and starts its servers elsewhere.
    Entries are members under their names, or items of a list (`entries_are_listed`, `entry_has_name`). With
    `in_terminal` the client is started in a shell, and has its PATH.
    """

    name: str
    title: str
    directory: str = ""
    directory_on_windows: str = ""
    moved_by: str = ""
    user_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ()
    sign: str = ""
    programs: tuple[str, ...] = ()
    file_format: FileFormat = FileFormat.JSON
    key: tuple[str, ...] = ("mcpServers",)
    stdio: StdioShape = field(default_factory=StdioShape)
    http: HttpShape | None = field(default_factory=HttpShape)
    variables: VariableStyle = field(default_factory=VariableStyle)
    then: str = "start a new session"
    where: str = ""
    link: str = ""
    registrar: str = ""
    excludes: tuple[tuple[str, ...], ...] = ()
    allows: tuple[tuple[str, ...], ...] = ()
    entries_are_listed: bool = False
    entry_has_name: bool = False
    in_terminal: bool = False
    workspace: str = ""

    @property
    def is_printed(self) -> bool:
        """Whether the client's entry is printed for the user to paste."""
        return bool(self.where)

    def files(self, scope: ClientScope, machine: Machine) -> tuple[str, ...]:
        """Return the candidates for the client's file of a scope. In the home directory, the user's is no project's."""
        own = tuple(self.place(path, machine) for path in self.user_files)
        if scope is ClientScope.USER:
            return own
        return tuple(path for one in self.project_files if (path := machine.join(machine.project, one)) not in own)

    def place(self, path: str, machine: Machine) -> str:
        """Return a path below the client's directory."""
        usual = self.directory_on_windows if machine.system is System.WINDOWS else ""
        moved = machine.environment.get(self.moved_by) if self.moved_by else None
        return machine.join(moved or machine.expand(usual or self.directory), path)
