"""TOML as text: putting one table into it and taking it out, with every other line as it was.

tomlkit reads and checks; what is ours is appended and cut as whole lines, because a comment above the next table
belongs, to tomlkit, to the table before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from skillhub_mcp.clients.json_text import InvalidText
from skillhub_mcp.clients.model import ClientEntry, EntryValue
from skillhub_mcp.clients.snippets import toml_table
from skillhub_mcp.foreign_toml import BadToml, check_toml, read_toml

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HEADING = re.compile(
    r"""[ \t]*\[\[?(?P<path>(?:"(?:\\.|[^"\\\r\n])*"|'[^'\r\n]*'|[^\[\]"'#\r\n])*)\]\]?"""
    r"[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)"
)
# Texts and comments, in which brackets mean nothing.
_PASSED = re.compile(
    r'"{3}(?:\\.|[^\\])*?"{3,5}'
    r"|'{3}.*?'{3,5}"
    r'|"(?:\\.|[^"\\\r\n])*"'
    r"|'[^'\r\n]*'"
    r"|#[^\r\n]*",
    re.DOTALL,
)
_BYTE_ORDER_MARK = "\ufeff"
_MOST_CHARACTERS = 1024 * 1024
# tomlkit takes a second for two hundred kilobytes.
_MOST_CHANGED_CHARACTERS = 256 * 1024


def parse_toml(text: str) -> dict[str, EntryValue]:
    """Return what a text says, dates as text. Raises InvalidText."""
    try:
        content = read_toml(text.removeprefix(_BYTE_ORDER_MARK), most_characters=_MOST_CHARACTERS)
    except BadToml as error:
        raise InvalidText(str(error)) from error
    return {str(key): _plain(value) for key, value in content.items()}


@lru_cache(maxsize=2)
def _document(text: str) -> TOMLDocument:
    """Return a text as tomlkit reads it, which is slow. The value is shared: do not change it.

    Raises InvalidText.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        check_toml(text, most_characters=_MOST_CHANGED_CHARACTERS)
        return tomlkit.parse(text.removeprefix(_BYTE_ORDER_MARK))
    except (TOMLKitError, ValueError) as error:
        raise InvalidText(str(error)) from error
    except RecursionError as error:
        raise InvalidText("it is nested too deep") from error


def put_table(text: str, path: Sequence[str], entry: ClientEntry) -> str:
    """Return `text` with a table at `path`: in the place of the one that is there, else at the end.

    Raises InvalidText where the text is invalid, or writes what is there in another way than as tables.
    """
    content = parse_toml(text)
    there = _has(content, path)
    _check_tables(content, path[:-1])
    if _is_inline(text, path[:-1]):
        return _changed_inline(text, path, entry)
    line_end = "\r\n" if "\r\n" in text else "\n"
    table = toml_table(tuple(path), entry).replace("\n", line_end)
    if not there:
        end = "" if not text or text.endswith("\n") else line_end
        return text + end + (line_end if text.strip() else "") + table
    start, stop = _lines_of(text, path)
    return text[:start] + table + text[stop:]


def drop_table(text: str, path: Sequence[str]) -> str:
    """Return `text` without the table at `path` and those below it, and one empty line. Raises InvalidText.

    Also where there is none, or it is not written as a table.
    """
    if not _has(parse_toml(text), path):
        raise InvalidText(f"it has no {'.'.join(path)}")
    if _is_inline(text, path[:-1]):
        return _changed_inline(text, path, None)
    start, stop = _lines_of(text, path)
    before = text[:start]
    for blank in ("\r\n\r\n", "\n\n"):
        if before.endswith(blank):
            before = before[: -len(blank) // 2]
            break
    return before + text[stop:]


def _is_inline(text: str, path: Sequence[str]) -> bool:
    """Whether the table at `path` is written in braces, so that none may follow with a heading of its own."""
    from tomlkit.items import InlineTable

    table: object = _document(text)
    for name in path:
        if not isinstance(table, Mapping) or name not in table:
            return False
        table = table[name]
    return isinstance(table, InlineTable)


def _changed_inline(text: str, path: Sequence[str], entry: ClientEntry | None) -> str:
    """Return `text` with `entry` as a member of a table in braces, or without that member."""
    import tomlkit

    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    document = tomlkit.parse(text.removeprefix(mark))
    table: Any = document
    for name in path[:-1]:
        table = table[name]
    if entry is None:
        del table[path[-1]]
    else:
        member = tomlkit.inline_table()
        member.update(entry)
        table[path[-1]] = member
    return mark + tomlkit.dumps(document)


def _lines_of(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return where the tables at and below `path` begin and end, without the comments before the next one."""
    headings = [(found.start(), _keys(found["path"])) for found in _headings(text)]
    ours = [index for index, (_, keys) in enumerate(headings) if keys[: len(path)] == tuple(path)]
    if not ours or ours != list(range(ours[0], ours[-1] + 1)):
        raise InvalidText(f"{'.'.join(path)} is not written as a table of its own")
    start = headings[ours[0]][0]
    stop = headings[ours[-1] + 1][0] if ours[-1] + 1 < len(headings) else len(text)
    # What follows the last line with a value is about what comes next.
    kept = re.findall(r"[^\n]*\n|[^\n]+", text[start:stop])
    while kept and (not kept[-1].strip() or kept[-1].lstrip().startswith("#")):
        kept.pop()
    return start, start + sum(map(len, kept))


def _headings(text: str) -> list[re.Match[str]]:
    """Return the headings of tables: lines in brackets that are in no text and no list."""
    found, at, depth = [], len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0, 0
    begins_line = True
    while at < len(text):
        heading = _HEADING.match(text, at) if begins_line and not depth else None
        passed = heading or _PASSED.match(text, at)
        if heading is not None:
            found.append(heading)
        elif passed is None:
            depth += (text[at] in "[{") - (text[at] in "]}")
        begins_line = text[at] == "\n" if passed is None else passed[0].endswith("\n")
        at = at + 1 if passed is None else passed.end()
    return found


def _keys(heading: str) -> tuple[str, ...]:
    """Return the names of a heading's path; of one that is none, nothing."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        content = tomlkit.parse(f"[{heading}]\n").unwrap()
    except (TOMLKitError, ValueError):
        return ()
    keys = []
    while isinstance(content, dict) and content:
        name = next(iter(content))
        keys.append(str(name))
        content = content[name]
    return tuple(keys)


def _has(content: EntryValue, path: Sequence[str]) -> bool:
    for name in path:
        if not isinstance(content, dict) or name not in content:
            return False
        content = content[name]
    return True


def _check_tables(content: EntryValue, path: Sequence[str]) -> None:
    for name in path:
        content = content.get(name, {}) if isinstance(content, dict) else None
        if not isinstance(content, dict):
            raise InvalidText(f"{name} is not a table")


def _plain(value: object) -> EntryValue:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)
