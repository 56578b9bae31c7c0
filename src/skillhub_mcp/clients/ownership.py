"""Decide whether an entry of a client's file starts SkillHub or another program of that name."""

from __future__ import annotations

import ntpath
import posixpath

from skillhub_mcp.clients.model import Client, ClientEntry, EntryValue, Server, StdioServer

COMMANDS = ("skillhub-mcp", "skillhub")
_MODULE = "skillhub_mcp"
_FILE = f"/{_MODULE}/__main__.py"
# Without `--from`, these fetch another program of our name from the package index.
_FETCHERS = ("uvx", "uv", "pipx")


def starts_skillhub(server: Server | None) -> bool:
    """Whether this server is SkillHub, and not the program of that name on the package index."""
    if not isinstance(server, StdioServer):
        return False
    program = program_of(server.command)
    if program in COMMANDS:
        return True
    if program in _FETCHERS:
        return "--from" in server.arguments and any(argument in COMMANDS for argument in server.arguments)
    if any(argument.replace("\\", "/").endswith(_FILE) for argument in server.arguments[:1]):
        return True
    return any(pair == ("-m", _MODULE) for pair in zip(server.arguments, server.arguments[1:], strict=False))


def fetches_namesake(server: StdioServer) -> bool:
    """Whether a server is the program that has our name on the package index."""
    fetched = program_of(server.command) in _FETCHERS and any(one in COMMANDS for one in server.arguments)
    return fetched and not starts_skillhub(server)


def program_of(command: str) -> str:
    """Return the name of a command's program, without its directory and `.exe`."""
    return ntpath.basename(posixpath.basename(command)).lower().removesuffix(".exe")


def merged(client: Client, old: EntryValue, new: ClientEntry) -> ClientEntry:
    """Return our new entry with the members and environment variables that the user added to the old one."""
    if not isinstance(old, dict):
        return new
    stdio, http, variables = client.stdio, client.http, client.variables
    replaced = {stdio.command, "args", "headers", "type", "name", variables.token_member}
    replaced |= {http.url} if http is not None else set()
    if stdio.command not in new:
        replaced |= {stdio.environment, variables.names_member}
    chosen = {*stdio.fixed, *(http.fixed if http is not None else ())}
    result = dict(new)
    for name, value in old.items():
        given = new.get(name)
        if name in replaced:
            continue
        if name not in new or name in chosen:
            result[name] = value
        elif isinstance(value, dict) and isinstance(given, dict):
            result[name] = {**value, **given}
        elif isinstance(value, list) and isinstance(given, list):
            result[name] = [*value, *(one for one in given if one not in value)]
    return result
