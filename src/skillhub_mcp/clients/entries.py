"""Write a server as an entry or a link of a client, and read an entry back as a server."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from skillhub_mcp.clients.model import (
    Client,
    ClientEntry,
    ClientScope,
    EntryValue,
    HttpServer,
    Server,
    StdioServer,
)
from skillhub_mcp.errors import InvalidArgument

DEFAULT_NAME = "skillhub"

_BEARER = "Bearer "


def entry_of(client: Client, server: Server, *, name: str = DEFAULT_NAME) -> ClientEntry:
    """Return the entry that makes `client` use `server`.

    Raises InvalidArgument if the client has no servers over HTTP, or cannot take a variable from its environment.
    """
    named: ClientEntry = {"name": name} if client.entry_has_name else {}
    if isinstance(server, HttpServer):
        return named | _http_entry(client, server)
    return named | _stdio_entry(client, server)


def in_workspace(client: Client, scope: ClientScope, server: Server) -> Server:
    """Return the server for a client's file of a scope; a project's file names the project in the client's own way."""
    if scope is ClientScope.USER or not client.workspace or not isinstance(server, StdioServer):
        return server
    return replace(server, environment={"SKILLHUB_CWD": client.workspace, **server.environment})


def server_of(client: Client, entry: EntryValue) -> Server | None:
    """Return the server that an entry of `client` leads to; None if the client cannot use the entry."""
    if not isinstance(entry, dict):
        return None
    if client.http is not None:
        url = entry.get(client.http.url)
        if isinstance(url, str):
            return HttpServer(url, _token_variable(client, entry))
    called = entry.get(client.stdio.command)
    if not client.stdio.command_is_list:
        arguments = entry.get("args", [])
        called = [called, *arguments] if isinstance(arguments, list) else None
    if not isinstance(called, list) or not called or not isinstance(called[0], str):
        return None
    environment, variables = _environment(client, entry)
    return StdioServer(called[0], tuple(str(one) for one in called[1:]), environment, variables)


def install_link(client: Client, server: Server, *, name: str = DEFAULT_NAME) -> str:
    """Return the link with which the client offers to add `server` under `name`. Raises InvalidArgument."""
    entry = entry_of(client, server, name=name)
    encoded = base64.b64encode(_compact(entry).encode()).decode()
    values = {"NAME": name, "BASE64": encoded, "JSON": _compact({"name": name, **entry})}
    return re.sub("NAME|BASE64|JSON", lambda found: quote(values[found[0]], safe=""), client.link)


def _compact(entry: ClientEntry) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def _stdio_entry(client: Client, server: StdioServer) -> ClientEntry:
    shape = client.stdio
    arguments: list[EntryValue] = list(server.arguments)
    called: ClientEntry = (
        {shape.command: [server.command, *arguments]}
        if shape.command_is_list
        else {shape.command: server.command, "args": arguments}
    )
    environment: dict[str, EntryValue] = dict(server.environment)
    names: ClientEntry = {}
    if server.variables:
        _refuse_without_variables(client, server.variables[0])
        if client.variables.names_member:
            names[client.variables.names_member] = list(server.variables)
        else:
            environment |= {variable: _reference(client, variable) for variable in server.variables}
    return {**shape.fixed, **called, **names, **({shape.environment: environment} if environment else {})}


def _http_entry(client: Client, server: HttpServer) -> ClientEntry:
    if client.http is None:
        raise InvalidArgument(
            "--http", f"cannot be used with {client.title}: it starts its servers itself", hint="leave --http out"
        )
    token: ClientEntry = {}
    if server.token_variable:
        _refuse_without_variables(client, server.token_variable)
        if client.variables.token_member:
            token = {client.variables.token_member: server.token_variable}
        else:
            token = {"headers": {"Authorization": _BEARER + _reference(client, server.token_variable)}}
    return {**client.http.fixed, client.http.url: server.url, **token}


def _reference(client: Client, variable: str) -> str:
    return client.variables.reference.replace("NAME", variable)


def _refuse_without_variables(client: Client, variable: str) -> None:
    if not client.variables.can_name:
        raise InvalidArgument(
            variable,
            f"cannot be named in a file of {client.title}, which takes no value from its environment",
            hint="a secret is never written to a file; set the variable where the client is started, "
            "so that the server inherits it",
        )


def _token_variable(client: Client, entry: Mapping[str, EntryValue]) -> str:
    named = entry.get(client.variables.token_member) if client.variables.token_member else None
    if isinstance(named, str):
        return named
    headers = entry.get("headers")
    header = headers.get("Authorization") if isinstance(headers, dict) else None
    if not isinstance(header, str) or not header.startswith(_BEARER):
        return ""
    return _referred(client, header.removeprefix(_BEARER)) or ""


def _environment(client: Client, entry: Mapping[str, EntryValue]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables of an entry with their values, and those taken from the client's environment."""
    written = entry.get(client.stdio.environment)
    members = written if isinstance(written, dict) else {}
    values = {name: str(value) for name, value in members.items()}
    referred = {name for name, value in values.items() if _referred(client, value) == name}
    listed = entry.get(client.variables.names_member) if client.variables.names_member else None
    names = [str(one) for one in listed] if isinstance(listed, list) else []
    return {name: value for name, value in values.items() if name not in referred}, (*names, *sorted(referred))


def _referred(client: Client, value: str) -> str | None:
    """Return the variable that a value of the client's file refers to, if it does."""
    if not client.variables.reference:
        return None
    before, after = (re.escape(part) for part in client.variables.reference.split("NAME"))
    found = re.fullmatch(f"{before}(\\w+){after}", value)
    return None if found is None else found[1]
