"""Whether an entry of a client's file starts SkillHub, or something else that has its name."""

from __future__ import annotations

import ntpath
import posixpath

from skillhub_mcp.clients.model import Client, ClientEntry, EntryValue, Server, StdioServer

COMMANDS = ("skillhub-mcp", "skillhub")

_MODULE = "skillhub_mcp"
# Programs that fetch another one by its name: without a place to take it from, that is the package index's namesake.
_FETCHERS = ("uvx", "uv", "pipx")


def starts_skillhub(server: Server | None) -> bool:
    """Whether a client that has this server starts SkillHub.

    A command that fetches `skillhub-mcp` from the package index does not: another program has that name there.
    """
    if not isinstance(server, StdioServer):
        return False
    program = program_of(server.command)
    if program in COMMANDS:
        return True
    if program in _FETCHERS:
        return "--from" in server.arguments and any(argument in COMMANDS for argument in server.arguments)
    return any(pair == ("-m", _MODULE) for pair in zip(server.arguments, server.arguments[1:], strict=False))


def fetches_namesake(server: StdioServer) -> bool:
    """Whether a server is the program that has our name on the package index, fetched from there."""
    fetched = program_of(server.command) in _FETCHERS and any(one in COMMANDS for one in server.arguments)
    return fetched and not starts_skillhub(server)


def program_of(command: str) -> str:
    """Return the name of a command's program, without its directory and the suffix that Windows wants."""
    return ntpath.basename(posixpath.basename(command)).lower().removesuffix(".exe")


def merged(client: Client, old: EntryValue, new: ClientEntry) -> ClientEntry:
    """Return our new entry with what a person added to the old one: members of their own, and their environment."""
    if not isinstance(old, dict):
        return new
    shapes = [client.stdio.fixed, *([client.http.fixed] if client.http is not None else [])]
    fixed = {name for shape in shapes for name in shape}
    chosen = {name: old[name] for name in fixed - {"type"} if name in old and name in new}
    stdio, environment = client.stdio, client.stdio.environment
    written = {
        stdio.command,
        stdio.arguments,
        environment,
        "headers",
        "type",
        "name",
        client.variables.token_member,
        client.variables.names_member,
        *([client.http.url] if client.http is not None else []),
    }
    added = {name: value for name, value in old.items() if name not in written | set(new)}
    ours = {**new, **chosen}
    old_environment = old.get(environment)
    if stdio.command in new and isinstance(old_environment, dict) and old_environment:
        given = new.get(environment)
        ours[environment] = {**old_environment, **(given if isinstance(given, dict) else {})}
    names = old.get(client.variables.names_member) if client.variables.names_member else None
    if stdio.command in new and isinstance(names, list) and names:
        given = new.get(client.variables.names_member)
        ours[client.variables.names_member] = list(dict.fromkeys([*names, *(given if isinstance(given, list) else [])]))
    return {**ours, **added}
