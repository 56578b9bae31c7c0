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
    """Whether this server is SkillHub; the program of that name on the package index is another one."""
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
    """Return our new entry with what the user added to the old one: members of their own, and environment variables."""
    if not isinstance(old, dict):
        return new
    shapes = [client.stdio.fixed, *([client.http.fixed] if client.http is not None else [])]
    fixed = {name for shape in shapes for name in shape}
    chosen = {name: old[name] for name in fixed - {"type"} if name in old and name in new}
    stdio = client.stdio
    written = {
        stdio.command,
        stdio.arguments,
        stdio.environment,
        "headers",
        "type",
        "name",
        client.variables.token_member,
        client.variables.names_member,
        *([client.http.url] if client.http is not None else []),
    }
    added = {name: value for name, value in old.items() if name not in written | set(new)}
    kept = _kept_environment(client, old, new) if stdio.command in new else {}
    return {**new, **chosen, **kept, **added}


def _kept_environment(client: Client, old: ClientEntry, new: ClientEntry) -> ClientEntry:
    kept: ClientEntry = {}
    values, given = (_members(entry.get(client.stdio.environment)) for entry in (old, new))
    if values or given or client.stdio.environment in old:
        kept[client.stdio.environment] = {**values, **given}
    listing = client.variables.names_member
    names, more = ((entry.get(listing) if listing else None) for entry in (old, new))
    if isinstance(names, list) and names:
        kept[listing] = list(dict.fromkeys([*names, *(more if isinstance(more, list) else [])]))
    return kept


def _members(value: EntryValue) -> ClientEntry:
    return dict(value) if isinstance(value, dict) else {}
