"""Move the keys that only describe a skill, such as `version`, under `metadata`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skillhub_mcp.skills.frontmatter import Entry, Value
from skillhub_mcp.skills.repairs import DESCRIPTIVE_KEYS, READ_IN_BOTH_PLACES

_INDENT = "  "


def under_metadata(header: str, entries: Sequence[Entry], values: Mapping[str, Value]) -> str:
    """Return a header with its descriptive keys, and their comments, under `metadata`; `entries` are its layout.

    A key that is there twice and a value that is neither text nor a list of texts stay, and all if `metadata` is in
    flow style.
    """
    keys = Counter(entry.key for entry in entries)
    metadata = next((entry for entry in entries if entry.key == "metadata"), None)
    inner = values.get("metadata")
    taken = set(inner) if isinstance(inner, dict) else set()
    is_empty = metadata is None or metadata.value_start == metadata.value_end
    if metadata is not None and (metadata.is_flow or keys["metadata"] > 1 or not (taken or is_empty)):
        return header
    lines = header.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    indent = _INDENT
    if metadata is not None and taken:
        indent = header[header.rfind("\n", 0, metadata.value_start) + 1 : metadata.value_start]
    moved: list[str] = []
    left: set[int] = set()
    for entry in entries:
        if entry.key not in DESCRIPTIVE_KEYS or entry.key in taken or keys[entry.key] > 1:
            continue
        place = _lines_of(entry, header)
        written = _as_metadata(entry, lines, place, header, values)
        if written is None:
            continue
        comments = _comments_above(lines, place.start)
        moved += [f"{indent}{line}" if line.strip() else line for line in (*lines[comments : place.start], *written)]
        left.update(range(comments, place.stop))
    if not moved:
        return header
    if metadata is None:
        at = min(left)
        moved.insert(0, f"metadata:{ending}")
    else:
        at = _lines_of(metadata, header).stop
    kept = [(number, line) for number, line in enumerate(lines) if number not in left]
    above = [line for number, line in kept if number < at]
    below = [line for number, line in kept if number >= at]
    return "\n".join([*above, *moved, *below])


def _lines_of(entry: Entry, header: str) -> range:
    return range(header.count("\n", 0, entry.start), header.count("\n", 0, entry.value_end) + 1)


def _comments_above(lines: Sequence[str], first: int) -> int:
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    return first


def _as_metadata(
    entry: Entry, lines: Sequence[str], place: range, header: str, values: Mapping[str, Value]
) -> list[str] | None:
    """Return the lines of an entry as text under `metadata`; None if that would lose something."""
    value = values.get(entry.key)
    written = header[entry.value_start : entry.value_end]
    if header[: entry.start].rpartition("\n")[2]:
        return None
    if isinstance(value, list):
        joined = _joined(value)
        inside = "\n".join(lines[place.start : place.stop])
        is_read_as_text = entry.key in READ_IN_BOTH_PLACES and entry.key != "tags"
        if joined is None or is_read_as_text or ("#" in inside and not entry.is_flow):
            # Joining would lose the comment, or change what SkillHub reads.
            return None
        if entry.is_flow and len(place) > 1 and "#" in written:
            return None
        text = double_quoted(joined)
    elif isinstance(value, str):
        if len(place) > 1:
            return list(lines[place.start : place.stop])
        # Other readers take a plain `1.0`, `2024-01-01` or `no` for something else than text.
        text = written if written != value else double_quoted(value)
    else:
        return None
    rest = lines[place.stop - 1][entry.value_end - (header.rfind("\n", 0, entry.value_end) + 1) :]
    return [f"{entry.key}: {text}{rest}"]


def _joined(items: Sequence[Value]) -> str | None:
    """Return a list of texts as one text with commas; None if that would be ambiguous."""
    texts = [item.strip() for item in items if isinstance(item, str)]
    unclear = len(texts) < len(items) or any(not text or "," in text for text in texts)
    return None if unclear or not texts else ", ".join(texts)


def as_under_metadata(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values with the descriptive keys under `metadata`, to compare headers."""
    metadata = values.get("metadata")
    inner: Mapping[str, Value] = metadata if isinstance(metadata, dict) else {}
    rest: dict[str, Value] = {key: value for key, value in values.items() if key not in (*DESCRIPTIVE_KEYS, "metadata")}
    outer = {key: as_text(value) for key, value in values.items() if key in DESCRIPTIVE_KEYS}
    both = {f"{key} at the top": value for key, value in outer.items() if key in inner}
    return {**rest, **both, "metadata": {**outer, **inner}}


def as_text(value: Value) -> str:
    """Return a value of metadata as text: a list with commas between its items."""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


def double_quoted(text: str) -> str:
    """Return a text as YAML in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
