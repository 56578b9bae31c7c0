"""Add our entry to a client's file or remove it, and change nothing else.

Every result is parsed again: the change is refused if anything but our entry differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillhub_mcp.clients.entries import DEFAULT_NAME, entry_of
from skillhub_mcp.clients.model import Client, ClientEntry, EntryValue, FileFormat, Server
from skillhub_mcp.clients.splice import (
    InvalidText,
    drop_member,
    drop_table,
    nested,
    parse_json,
    parse_toml,
    put_member,
    put_table,
)


def entries_in(client: Client, text: str) -> Mapping[str, EntryValue]:
    """Return every entry of a client's file by its name. Raises InvalidText."""
    return _read(client, text)[1]


def is_switched_off(client: Client, text: str, name: str) -> bool:
    """Whether the client's own switch turns the entry under `name` off. Raises InvalidText."""
    content, entries = _read(client, text)
    entry = entries.get(name)
    if isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False):
        return True
    excluded, allowed = ([_list_at(content, path) for path in paths] for paths in (client.excludes, client.allows))
    return any(name in names for names in excluded) or any(names and name not in names for names in allowed)


def with_entry(client: Client, text: str, name: str, entry: ClientEntry) -> str:
    """Return the text of a client's file with `entry` under `name`, replacing an existing one. Raises InvalidText."""
    put = put_table if client.file_format is FileFormat.TOML else put_member
    return _checked(client, text, put(text, (*client.key, name), entry), name, entry)


def without_entry(client: Client, text: str, name: str) -> str:
    """Return the text of a client's file without the entry under `name`. Raises InvalidText."""
    drop = drop_table if client.file_format is FileFormat.TOML else drop_member
    return _checked(client, text, drop(text, (*client.key, name)), name, None)


def whole_file(client: Client, server: Server, *, name: str = DEFAULT_NAME) -> str:
    """Return a file of `client` that has `server` under `name` and nothing else. Raises InvalidArgument."""
    entry = entry_of(client, server, name=name)
    if client.file_format is not FileFormat.YAML:
        return with_entry(client, "", name, entry)
    import yaml

    content = nested(client.key, [entry] if client.entries_are_listed else {name: entry})
    return str(yaml.safe_dump(content, sort_keys=False, default_flow_style=False, allow_unicode=True))


def _list_at(content: EntryValue, path: Sequence[str]) -> list[EntryValue]:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, list) else []


def _read(client: Client, text: str) -> tuple[EntryValue, dict[str, EntryValue]]:
    """Return the content of a client's file, and the entries in it. Raises InvalidText."""
    content = entries = parse_toml(text) if client.file_format is FileFormat.TOML else parse_json(text)
    for key in client.key:
        if not isinstance(entries, dict):
            raise InvalidText(f"what {key!r} should be in is not an object")
        entries = entries.get(key, {})
    if not isinstance(entries, dict):
        raise InvalidText(f"{client.key[-1]!r} is not an object")
    return content, entries


def _checked(client: Client, old: str, new: str, name: str, entry: ClientEntry | None) -> str:
    """Return `new`. Raises InvalidText unless it has `entry` under `name`, and else the content of `old`."""
    (before, replaced), (after, entries) = _read(client, old), _read(client, new)
    replaced.pop(name, None)
    if entries.pop(name, None) != entry or _without_empty(after) != _without_empty(before):
        raise InvalidText("its other content would change too")
    return new


def _without_empty(content: EntryValue) -> EntryValue:
    """Return a value without empty objects: a TOML table without members may go with the last of them."""
    if not isinstance(content, dict):
        return content
    kept = {name: _without_empty(value) for name, value in content.items()}
    return {name: value for name, value in kept.items() if value != {}}
