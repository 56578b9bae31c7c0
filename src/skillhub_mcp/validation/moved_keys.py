"""Move the keys that only describe a skill, such as `version`, under `metadata`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skillhub_mcp.skills.frontmatter import Entry, Value
from skillhub_mcp.skills.repairs import DESCRIPTIVE_KEYS, READ_IN_BOTH_PLACES


def under_metadata(header: str, entries: Sequence[Entry], values: Mapping[str, Value]) -> str:
    """Return a header with its descriptive keys as texts under `metadata`; `entries` are its layout.

    What cannot be moved without loss stays: a key with a comment, one that occurs twice, and a value that is neither
    one line nor a list of texts. All keys stay if `metadata` is empty or in flow style.
    """
    keys = Counter(entry.key for entry in entries)
    metadata = next((entry for entry in entries if entry.key == "metadata"), None)
    inner = values.get("metadata")
    taken = inner if isinstance(inner, dict) else {}
    if metadata is not None and (metadata.is_flow or keys["metadata"] > 1 or not taken):
        return header
    lines = header.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    indent = "  "
    if metadata is not None:
        indent = header[header.rfind("\n", 0, metadata.value_start) + 1 : metadata.value_start]
    moved: list[str] = []
    left: set[int] = set()
    for entry in entries:
        text = _as_one_line(entry.key, values.get(entry.key))
        place = _lines_of(entry, header)
        is_block = lines[place.start].startswith(entry.key)
        has_comment = any("#" in lines[number] for number in place)
        is_only_one = entry.key not in taken and keys[entry.key] == 1
        if text is not None and is_block and is_only_one and not has_comment:
            moved.append(f"{indent}{entry.key}: {double_quoted(text)}{ending}")
            left.update(place)
    if not moved:
        return header
    at = min(left) if metadata is None else _lines_of(metadata, header).stop
    if metadata is None:
        moved.insert(0, f"metadata:{ending}")
    above = [line for number, line in enumerate(lines) if number < at and number not in left]
    below = [line for number, line in enumerate(lines) if number >= at and number not in left]
    return "\n".join([*above, *moved, *below])


def _lines_of(entry: Entry, header: str) -> range:
    return range(header.count("\n", 0, entry.start), header.count("\n", 0, entry.value_end) + 1)


def _as_one_line(key: str, value: Value) -> str | None:
    """Return the value of a descriptive key as one line of text; None for another key, or if that is ambiguous."""
    if key not in DESCRIPTIVE_KEYS:
        return None
    if isinstance(value, str):
        return None if "\n" in value else value
    # SkillHub reads a list of tags, but no list of authors: joined, it would be one author.
    if not isinstance(value, list) or (key in READ_IN_BOTH_PLACES and key != "tags"):
        return None
    items = [item.strip() for item in value if isinstance(item, str)]
    is_clear = len(items) == len(value) and all(item and "," not in item and "\n" not in item for item in items)
    return ", ".join(items) or None if is_clear else None


def as_under_metadata(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values with the descriptive keys under `metadata`, to compare headers."""
    metadata = values.get("metadata")
    inner: Mapping[str, Value] = metadata if isinstance(metadata, dict) else {}
    rest: dict[str, Value] = {key: value for key, value in values.items() if key not in (*DESCRIPTIVE_KEYS, "metadata")}
    outer = {key: _as_text(value) for key, value in values.items() if key in DESCRIPTIVE_KEYS}
    both = {f"{key} at the top": value for key, value in outer.items() if key in inner}
    return {**rest, **both, "metadata": {**outer, **inner}}


def _as_text(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


def double_quoted(text: str) -> str:
    """Return a text as YAML in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
