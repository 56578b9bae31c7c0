"""Put our entry into a client's file or remove it, and nothing else.

Every result is parsed again: it must say what the file said before, but for our entry, or the change is refused.
"""

from __future__ import annotations

import json
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
    content = _parse(client, text)
    for key in client.key:
        content = {} if content is None else content
        if not isinstance(content, dict):
            raise InvalidText(f"what {key!r} should be in is not an object")
        content = content.get(key, {})
    if not isinstance(content, dict):
        raise InvalidText(f"{client.key[-1]!r} is not an object")
    return content


def is_switched_off(client: Client, text: str, name: str) -> bool:
    """Whether the client's own switch turns the entry under `name` off. Raises InvalidText."""
    content, entry = _parse(client, text), entries_in(client, text).get(name)
    if isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False):
        return True
    excluded, allowed = ([_list_at(content, path) for path in paths] for paths in (client.excludes, client.allows))
    return any(name in names for names in excluded) or any(names and name not in names for names in allowed)


def with_entry(client: Client, text: str, name: str, entry: ClientEntry) -> str:
    """Return the text of a client's file with `entry` under `name`, replacing an existing one. Raises InvalidText."""
    expected = _parse(client, text)
    path = (*client.key, name)
    new = put_table(text, path, entry) if client.file_format is FileFormat.TOML else put_member(text, path, entry)
    _check(client, text, new, _with(expected, path, entry))
    return new


def without_entry(client: Client, text: str, name: str) -> str:
    """Return the text of a client's file without the entry under `name`. Raises InvalidText."""
    expected = parent = _parse(client, text)
    path = (*client.key, name)
    new = drop_table(text, path) if client.file_format is FileFormat.TOML else drop_member(text, path)
    for key in client.key:
        parent = parent[key] if isinstance(parent, dict) else None
    if isinstance(parent, dict):
        del parent[name]
    _check(client, text, new, expected)
    return new


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


def _with(content: EntryValue, path: Sequence[str], entry: ClientEntry) -> ClientEntry:
    before = content if isinstance(content, dict) else {}
    name, *rest = path
    return {**before, name: _with(before.get(name), rest, entry) if rest else entry}


def _parse(client: Client, text: str) -> EntryValue:
    if client.file_format is FileFormat.TOML:
        return parse_toml(text)
    # Reading strict JSON is faster: the state of some clients has megabytes.
    strict = _strict(text)
    return parse_json(text) if strict is None else strict


def _check(client: Client, old: str, new: str, expected: EntryValue) -> None:
    """Raise InvalidText unless `new` says what is expected, also to a reader of strict JSON that can read `old`."""
    agrees = _without_empty(_parse(client, new)) == _without_empty(expected)
    if client.file_format is not FileFormat.TOML:
        agrees = agrees and (_strict(old) is None or _strict(new) is not None)
    if not agrees:
        raise InvalidText("it cannot be changed without touching what is not ours")


def _strict(text: str) -> EntryValue:
    try:
        content: EntryValue = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return content


def _without_empty(content: EntryValue) -> EntryValue:
    """Return a value without empty objects: a TOML table without members may go with the last of them."""
    if not isinstance(content, dict):
        return content
    kept = {name: _without_empty(value) for name, value in content.items()}
    return {name: value for name, value in kept.items() if value != {}}
