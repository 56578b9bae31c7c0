"""Write an entry as the text of a whole file, to show and to paste."""

from __future__ import annotations

import json

from skillhub_mcp.clients.entries import DEFAULT_NAME, entry_of
from skillhub_mcp.clients.model import Client, ClientEntry, EntryValue, FileFormat, Server


def whole_file(client: Client, server: Server, *, name: str = DEFAULT_NAME) -> str:
    """Return a file of `client` that has `server` under `name` and nothing else. Raises InvalidArgument."""
    return file_with(client, name, entry_of(client, server, name=name))


def file_with(client: Client, name: str, entry: ClientEntry) -> str:
    """Return a file of `client` that has this entry and nothing else."""
    content: EntryValue = [entry] if client.entries_are_listed else {name: entry}
    for key in reversed(client.key):
        content = {key: content}
    if client.file_format is FileFormat.TOML:
        return toml_table((*client.key, name), entry)
    if client.file_format is FileFormat.YAML:
        import yaml

        return str(yaml.safe_dump(content, sort_keys=False, default_flow_style=False, allow_unicode=True))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def toml_table(path: tuple[str, ...], entry: ClientEntry) -> str:
    """Return an entry as TOML, each object in it as a table."""
    import tomlkit

    heading = ".".join(tomlkit.key(part).as_string() for part in path)
    plain = {key: value for key, value in entry.items() if not isinstance(value, dict)}
    nested = {key: value for key, value in entry.items() if isinstance(value, dict)}
    tables = [toml_table((*path, key), value) for key, value in nested.items()]
    return "\n".join([f"[{heading}]\n{tomlkit.dumps(plain)}", *tables])
