"""One value put into the text of a client's file, or taken out: a run of characters changes, the rest stays.

JSON may have comments and trailing commas. They are blanked out, which leaves every place where it was, for the parser
of the standard library. `editing` reads each result again: what a splice should not have changed is refused there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.clients.model import ClientEntry, EntryValue
from skillhub_mcp.clients.snippets import toml_table

_BYTE_ORDER_MARK = "\ufeff"
_UNIT = "  "
_LONG_QUOTES = ('"""', "'''")
_MOST_CHARACTERS = 1024 * 1024

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\r\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?P<end>\*/)?', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_BLANKS = re.compile(r"[ \t]*")
_COMMA = re.compile(r"[ \t\r\n]*,")
_LINE_END = re.compile(r"\r\n|\n|\r")
_NOT_LINE_END = re.compile(r"[^\r\n]")
_STEP = re.compile(r"(?:^|[\r\n])([ \t]+)(?=\S)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Only texts over several lines may have a line that looks like a heading.
_TOML_TEXT = re.compile(
    r'"{3}(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|'{3}.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\r\n])*"'
    r"|'[^'\r\n]*'"
    r"|#[^\r\n]*",
    re.DOTALL,
)
_HEADING = re.compile(r"^[ \t]*\[{1,2}([^\r\n]+?)\]{1,2}[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)


class InvalidText(ValueError):
    """A text that is not in the language of its file, or cannot be changed safely; the message says why, and where."""


class _Member(NamedTuple):
    """A member of an object: its name, where that begins, and where the value begins and ends."""

    name: str
    start: int
    value: int
    end: int


def parse_json(text: str) -> EntryValue:
    """Return what a JSON text says; None for one with nothing but comments. Raises InvalidText."""
    plain = _Json(text).plain
    return _loaded(plain) if plain.strip() else None


def put_member(text: str, path: Sequence[str], content: EntryValue) -> str:
    """Return a JSON text with `content` at `path`, a list of names from the root down. Missing objects are made.

    A member that is there gets the new content in its place; a new one comes first. Raises InvalidText if the text is
    invalid, or if a name on the path is there twice or leads to something else than an object.
    """
    file = _Json(text)
    if not file.plain.strip():
        written = json.dumps(_nested(path, content), indent=_UNIT, ensure_ascii=False) + "\n"
        begin = text.rstrip(" \t\r\n")
        separator = file.line_end if begin.strip(_BYTE_ORDER_MARK) else ""
        return begin + separator + written.replace("\n", file.line_end)
    start, depth = file.deepest(path)
    found = file.named(start, path[depth])
    if found is None:
        return file.with_member(start, path[depth], _nested(path[depth + 1 :], content))
    old = file.plain[found.value : found.end]
    if json.dumps(_loaded(old)) == json.dumps(content):
        return text
    on_one_line = not _LINE_END.search(old) and old not in ("{}", "null")
    return text[: found.value] + file.written(content, found.start, inline=on_one_line) + text[found.end :]


def drop_member(text: str, path: Sequence[str]) -> str:
    """Return a JSON text without the member at `path`, and its comma. Raises InvalidText, also if there is none."""
    file = _Json(text)
    start, depth = file.deepest(path)
    found = file.named(start, path[depth])
    if depth != len(path) - 1 or found is None:
        raise InvalidText(f"it has no {'.'.join(path)}")
    return file.without_member(start, found)


class _Json:
    """A JSON text, the same without comments, and the same as strict JSON, all with each character in its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        marked = " " + text[1:] if text.startswith(_BYTE_ORDER_MARK) else text
        self.bare = _COMMENT.sub(self._blank, marked)
        self.plain = _TRAILING_COMMA.sub(self._blank, self.bare)
        found = _LINE_END.search(text)
        self.line_end = found[0] if found else "\n"

    @staticmethod
    def _blank(found: re.Match[str]) -> str:
        if found[0].startswith('"'):
            return found[0]
        if found[0].startswith("/*") and not found["end"]:
            raise InvalidText("a comment does not end")
        return _NOT_LINE_END.sub(" ", found[0])

    def deepest(self, path: Sequence[str]) -> tuple[int, int]:
        """Return where the deepest object begins that may hold the next name of `path`, and how many lead to it."""
        _loaded(self.plain)
        start, depth = self._skip(0), 0
        while True:
            if self.plain[start] != "{":
                where = " of ".join([repr(name) for name in reversed(path[:depth])] + ["the file"])
                raise InvalidText(f"{where} is not an object")
            found = self.named(start, path[depth])
            if found is None or depth == len(path) - 1:
                return start, depth
            start, depth = found.value, depth + 1

    def named(self, start: int, name: str) -> _Member | None:
        """Return the member of that name of the object at `start`. Raises InvalidText if there are two."""
        found = [member for member in self.members(start) if member.name == name]
        if len(found) > 1:
            raise InvalidText(f"it has {name!r} twice")
        return found[0] if found else None

    def members(self, start: int) -> list[_Member]:
        """Return the members of the object at `start`."""
        decode = json.JSONDecoder().raw_decode
        found, at = [], self._skip(start + 1)
        while self.plain[at] != "}":
            name, end = decode(self.plain, at)
            value = self._skip(self._skip(end) + 1)
            end = decode(self.plain, value)[1]
            found.append(_Member(name, at, value, end))
            at = self._skip(end)
            at = self._skip(at + 1) if self.plain[at] == "," else at
        return found

    def with_member(self, start: int, name: str, content: EntryValue) -> str:
        """Return the text with a new first member of the object at `start`."""
        members = self.members(start)
        at = start + 1
        line = _BLANKS.match(self.bare, at)
        end = at if line is None else line.end()
        key = json.dumps(name, ensure_ascii=False) + ": "
        if members and not _LINE_END.match(self.bare, end):
            # The object begins on one line with its members, and goes on there.
            first = members[0].start
            return self.text[:first] + key + self.written(content, first, inline=True) + ", " + self.text[first:]
        outer = self._indentation(start)
        inner = self._indentation(members[0].start) if members else ""
        if not (inner.startswith(outer) and len(inner) > len(outer)):
            inner = outer + self._unit()
        written = self.line_end + inner + key + self.written(content, start, indentation=inner)
        if members:
            return self.text[:end] + written + "," + self.text[end:]
        close = self._skip(at)
        empty = not self.text[at:close].strip()
        end = at if empty else end
        rest = self.line_end + outer if empty or not _LINE_END.search(self.text, end, close) else self.text[end:close]
        return self.text[:end] + written + rest + self.text[close:]

    def without_member(self, start: int, member: _Member) -> str:
        """Return the text without a member of the object at `start`."""
        text, members = self.text, self.members(start)
        index = members.index(member)
        comma = _COMMA.match(self.bare, member.end)
        end = member.end if comma is None else comma.end()
        begin = len(text[: member.start].rstrip(" \t\r\n"))
        kept = text[member.end : end - 1] if comma is not None else ""
        if _LINE_END.search(text, begin, member.start) and not _LINE_END.match(text[end:].lstrip(" \t")):
            # What follows goes on in the member's line: a comment before it keeps its own.
            begin = member.start
        if begin == member.start or not _LINE_END.search(text, begin, member.start):
            begin, end = member.start, end + len(text[end:]) - len(text[end:].lstrip(" \t"))
        before = text[:begin]
        if comma is None and index:
            last = members[index - 1].end
            place = self.bare.index(",", last)
            before = text[:place] + text[place + 1 : begin]
        result = before + kept.strip(" \t\r\n") + text[end:]
        if len(members) == 1:
            rest = result[start + 1 :]
            if rest.lstrip(" \t\r\n").startswith("}"):
                return result[: start + 1] + rest.lstrip(" \t\r\n")
        return result

    def written(self, content: EntryValue, at: int, *, inline: bool = False, indentation: str | None = None) -> str:
        """Return a value as text, on one line or with the indentation of the line of `at`."""
        if inline:
            return json.dumps(content, ensure_ascii=False)
        outer = self._indentation(at) if indentation is None else indentation
        return json.dumps(content, indent=self._unit(), ensure_ascii=False).replace("\n", self.line_end + outer)

    def _unit(self) -> str:
        """Return one step of indentation: that of the first line that has one."""
        found = _STEP.search(self.bare)
        return found[1] if found else _UNIT

    def _indentation(self, at: int) -> str:
        begin = max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1
        line = self.text[begin:at].removeprefix(_BYTE_ORDER_MARK)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self.plain, at)
        return at if space is None else space.end()


def _loaded(plain: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a JSON value")

    try:
        return json.loads(plain, parse_constant=refuse)
    except RecursionError as error:
        raise InvalidText("it is nested too deep") from error
    except json.JSONDecodeError as error:
        raise InvalidText(f"{error.msg} (line {error.lineno}, column {error.colno})") from error
    except ValueError as error:
        raise InvalidText(str(error)) from error


def _nested(path: Sequence[str], content: EntryValue) -> EntryValue:
    for name in reversed(path):
        content = {name: content}
    return content


def parse_toml(text: str) -> dict[str, EntryValue]:
    """Return what a TOML text says, dates as text. Raises InvalidText."""
    try:
        content = read_toml(text.removeprefix(_BYTE_ORDER_MARK), most_characters=_MOST_CHARACTERS)
    except BadToml as error:
        raise InvalidText(str(error)) from error
    return {str(key): _plain(value) for key, value in content.items()}


def put_table(text: str, path: Sequence[str], entry: ClientEntry) -> str:
    """Return a TOML text with a table at `path`: in the place of the one that is there, else at the end.

    Raises InvalidText if the text is invalid.
    """
    there = parse_toml(text)
    for name in path[:-1]:
        table = there.get(name, {})
        if not isinstance(table, dict):
            raise InvalidText(f"{name} is not a table")
        there = table
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = toml_table(tuple(path), entry).replace("\n", line_end)
    span = _span(text, path) if path[-1] in there else None
    if span is not None:
        return text[: span[0]] + written + text[span[1] :]
    end = "" if not text or text.endswith("\n") else line_end
    return text + end + (line_end if text.strip() else "") + written


def drop_table(text: str, path: Sequence[str]) -> str:
    """Return a TOML text without the table at `path` and those below it, and one empty line. Raises InvalidText."""
    parse_toml(text)
    span = _span(text, path)
    if span is not None:
        return re.sub(r"(\r?\n)\r?\n\Z", r"\1", text[: span[0]]) + text[span[1] :]
    raise InvalidText(f"{'.'.join(path)} is not written as a table of its own")


def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the tables at and below `path` begin and end, without the comments before the next one."""
    plain = _TOML_TEXT.sub(lambda found: "x" * len(found[0]) if found[0][:3] in _LONG_QUOTES else found[0], text)
    headings = [(found.start(), _keys(found[1])) for found in _HEADING.finditer(plain)]
    ours = [index for index, (_, keys) in enumerate(headings) if keys[: len(path)] == tuple(path)]
    if not ours:
        return None
    stop = headings[ours[-1] + 1][0] if ours[-1] + 1 < len(headings) else len(text)
    start = headings[ours[0]][0]
    # What follows the last line with a value is about what comes next.
    lines = _LINE.findall(text[start:stop])
    while not lines[-1].strip() or lines[-1].lstrip().startswith("#"):
        lines.pop()
    return start, start + sum(map(len, lines))


def _keys(heading: str) -> tuple[str, ...]:
    """Return the names of a heading's path; nothing if it is not a heading."""
    try:
        content: Any = parse_toml(f"[{heading}]\n")
    except InvalidText:
        return ()
    keys = []
    while content:
        ((name, content),) = content.items()
        keys.append(name)
    return tuple(keys)


def _plain(value: object) -> EntryValue:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else str(value)
