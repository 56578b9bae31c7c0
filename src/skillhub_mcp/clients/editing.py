"""One entry of a client's file, put into its text or taken out of it, and nothing else.

Every change is read anew: it must say what the text said before, but for our entry, or it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from skillhub_mcp.clients.model import Client, ClientEntry, EntryValue, FileFormat
from skillhub_mcp.clients.splice import (
    InvalidText,
    drop_member,
    drop_table,
    parse_json,
    parse_toml,
    put_member,
    put_table,
)


def entries_in(client: Client, text: str) -> Mapping[str, EntryValue]:
    """Return every entry of a client's file by its name. Raises InvalidText for a text that cannot be used."""
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
    """Whether the client's own switch keeps the entry under `name` from being used. Raises InvalidText."""
    content, entry = _parse(client, text), entries_in(client, text).get(name)
    if isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False):
        return True
    excluded, allowed = ([_list_at(content, path) for path in paths] for paths in (client.excludes, client.allows))
    return any(name in names for names in excluded) or any(names and name not in names for names in allowed)


def _list_at(content: EntryValue, path: Sequence[str]) -> list[EntryValue]:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, list) else []


def with_entry(client: Client, text: str, name: str, entry: ClientEntry) -> str:
    """Return the text of a client's file with `entry` under `name`, in the place of one that is there.

    Raises InvalidText where the text is invalid, or what comes out would say anything else too.
    """
    path = (*client.key, name)
    new = put_table(text, path, entry) if client.file_format is FileFormat.TOML else put_member(text, path, entry)
    _check(client, text, new, _expected(_parse(client, text), path, entry))
    return new


def _expected(content: EntryValue, path: Sequence[str], entry: ClientEntry) -> ClientEntry:
    """Return a file's content with `entry` at `path`: where it is new, before the rest."""
    before = content if isinstance(content, dict) else {}
    name, *rest = path
    value = _expected(before.get(name), rest, entry) if rest else entry
    return {**before, name: value} if name in before else {name: value, **before}


def without_entry(client: Client, text: str, name: str) -> str:
    """Return the text of a client's file without the entry under `name`.

    Raises InvalidText where the text is invalid, has no such entry, or what comes out would say anything else too.
    """
    path = (*client.key, name)
    new = drop_table(text, path) if client.file_format is FileFormat.TOML else drop_member(text, path)
    expected = _parse(client, text)
    parent = expected
    for key in client.key:
        parent = parent[key] if isinstance(parent, dict) else None
    if isinstance(parent, dict):
        del parent[name]
    _check(client, text, new, expected)
    return new


def _parse(client: Client, text: str) -> EntryValue:
    if client.file_format is FileFormat.TOML:
        return parse_toml(text)
    # Strict JSON is read fast, as long as it is: the state of some clients has megabytes.
    strict = _strict(text)
    return parse_json(text) if strict is None else strict


def _check(client: Client, old: str, new: str, expected: EntryValue) -> None:
    """Raise InvalidText unless `new` says what is expected, also to a reader of strict JSON that can read `old`."""
    if client.file_format is FileFormat.TOML:
        # A table that tomlkit no longer finds empty may be gone.
        agrees = _sorted(_without_empty(parse_toml(new))) == _sorted(_without_empty(expected))
    else:
        agrees = _written(parse_json(new)) == _written(expected)
        strict = _strict(old)
        agrees = agrees and (strict is None or _written(_strict(new)) == _written(expected))
    if not agrees:
        raise InvalidText("it cannot be changed without touching what is not ours")


def _strict(text: str) -> EntryValue:
    try:
        content: EntryValue = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        # What is nested too deep for Python's reader is so for ours, which says it.
        return None
    return content


def _written(content: EntryValue) -> str:
    """Return a value as text, in which 1, 1.0 and true differ, and so do members in another order."""
    return json.dumps(content)


def _sorted(content: EntryValue) -> str:
    return json.dumps(content, sort_keys=True)


def _without_empty(content: EntryValue) -> EntryValue:
    if not isinstance(content, dict):
        return content
    kept = {name: _without_empty(value) for name, value in content.items()}
    return {name: value for name, value in kept.items() if value != {}}
