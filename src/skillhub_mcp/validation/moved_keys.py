"""Move the keys that only describe a skill, such as `version`, under `metadata`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from skillhub_mcp.skills.frontmatter import Document, Value
from skillhub_mcp.skills.repairs import DESCRIPTIVE_KEYS, READ_IN_BOTH_PLACES

_BLOCK = re.compile(r"metadata:\s*(?:#.*)?")
_INDENTED = re.compile(r"([ \t]+)[^\s#]")


def under_metadata(document: Document) -> str:
    """Return the header of a document with its descriptive keys as texts under `metadata`.

    What cannot be moved without loss stays: a key with a comment, and a value that is neither one line nor a list of
    texts. All keys stay if `metadata` is empty or in flow style.
    """
    values = document.values or {}
    lines = document.header.split("\n")
    ending = "\r" if lines[0].endswith("\r") else ""
    inner = values.get("metadata")
    taken = inner if isinstance(inner, dict) else {}
    indent, at = "  ", None
    if "metadata" in values:
        place = _lines_of("metadata", document, lines)
        indented = next(filter(None, (_INDENTED.match(lines[number]) for number in place)), None)
        if not (taken and indented and _BLOCK.fullmatch(lines[place.start])):
            return document.header
        indent, at = indented[1], place.stop
    moved: list[str] = []
    left: set[int] = set()
    for key in document.lines:
        place = _lines_of(key, document, lines)
        text = _as_one_line(key, values.get(key))
        has_comment = any("#" in lines[number] for number in place)
        if text is not None and key not in taken and lines[place.start].startswith(f"{key}:") and not has_comment:
            moved.append(f"{indent}{key}: {double_quoted(text)}{ending}")
            left.update(place)
    if not moved:
        return document.header
    if at is None:
        at = min(left)
        moved.insert(0, f"metadata:{ending}")
    above = [line for number, line in enumerate(lines) if number < at and number not in left]
    below = [line for number, line in enumerate(lines) if number >= at and number not in left]
    return "\n".join([*above, *moved, *below])


def _lines_of(key: str, document: Document, lines: Sequence[str]) -> range:
    """Return the lines of a key and its value in the header, without the blank lines and comments that follow."""
    starts = [at - document.first_line for at in document.lines.values()]
    start = document.lines[key] - document.first_line
    end = min((at for at in starts if at > start), default=len(lines))
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return range(start, end)


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
