"""Put one value into a JSON or TOML text, or remove it, and leave every other character as it is.

JSON may have comments and trailing commas: they are replaced by spaces, so that the standard parser reads the text and
every offset stays valid. `editing` parses each result again and refuses one that says anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from skillhub_mcp._util.safe_toml import BadToml, read_toml
from skillhub_mcp.clients.model import ClientEntry, EntryValue

_BYTE_ORDER_MARK = "\ufeff"
_UNIT = "  "
_MAX_TOML_CHARACTERS = 1024 * 1024

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|//[^\r\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?P<end>\*/)?', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_BLANKS = re.compile(r"[ \t]*")
_LINE_END = re.compile(r"\r?\n")
_LAST_LINE = re.compile(r"\r?\n[ \t]*\Z")
_STEP = re.compile(r"(?:^|\n)([ \t]+)(?=\S)")
_HEADING = re.compile(r"[ \t]*\[{1,2}([^\]\r\n]+)\]{1,2}[ \t]*(?:#.*)?\r?\n?\Z")


class InvalidText(ValueError):
    """A text that is invalid or cannot be changed safely; the message says why, and where."""


class _Member(NamedTuple):
    name: str
    start: int
    value: int
    end: int


def parse_json(text: str) -> EntryValue:
    """Return the content of a JSON text, which may have comments and trailing commas. Raises InvalidText.

    A text with nothing but comments is an empty object.
    """
    try:
        # Faster than removing comments: the state of some clients has megabytes.
        content: EntryValue = json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        plain = _Json(text).plain
        return _loaded(plain) if plain.strip() else {}
    return content


def put_member(text: str, path: Sequence[str], content: EntryValue) -> str:
    """Return a JSON text with `content` at `path`, a list of names from the root down. Missing objects are made.

    An existing member gets the new content in its place; a new one comes first. Raises InvalidText.
    """
    file = _Json(text)
    if not file.plain.strip():
        written = json.dumps(nested(path, content), indent=_UNIT, ensure_ascii=False) + "\n"
        begin = text.rstrip(" \t\r\n")
        separator = file.line_end if begin.strip(_BYTE_ORDER_MARK) else ""
        return begin + separator + written.replace("\n", file.line_end)
    start, depth = file.deepest(path)
    found = file.named(start, path[depth])
    if found is None:
        return file.with_member(start, path[depth], nested(path[depth + 1 :], content))
    old = file.plain[found.value : found.end]
    if _loaded(old) == content:
        return text
    if not _LINE_END.search(old) and old not in ("{}", "null"):
        return text[: found.value] + json.dumps(content, ensure_ascii=False) + text[found.end :]
    return text[: found.value] + file.indented(content, file.margin(found.start)) + text[found.end :]


def drop_member(text: str, path: Sequence[str]) -> str:
    """Return a JSON text without the member at `path`, and its comma. Raises InvalidText, also if there is none."""
    file = _Json(text)
    start, depth = file.deepest(path)
    found = file.named(start, path[depth])
    if depth != len(path) - 1 or found is None:
        raise InvalidText(f"it has no {'.'.join(path)}")
    return file.without_member(start, found)


class _Json:
    """A JSON text; `bare` is the same without comments, `plain` also without trailing commas, at equal offsets."""

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
        return re.sub(r"[^\r\n]", " ", found[0])

    def deepest(self, path: Sequence[str]) -> tuple[int, int]:
        """Return where the deepest object on `path` begins, and how many names lead to it."""
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
        key = json.dumps(name, ensure_ascii=False) + ": "
        line = _BLANKS.match(self.bare, start + 1)
        end = start + 1 if line is None else line.end()
        if members and not _LINE_END.match(self.bare, end):
            # The first member is on the line of the brace.
            first = members[0].start
            return self.text[:first] + key + json.dumps(content, ensure_ascii=False) + ", " + self.text[first:]
        outer = self.margin(start)
        inner = self.margin(members[0].start) if members else ""
        if not (inner.startswith(outer) and len(inner) > len(outer)):
            inner = outer + self._unit()
        written = self.line_end + inner + key + self.indented(content, inner)
        if members:
            return self.text[:end] + written + "," + self.text[end:]
        close = self._skip(start + 1)
        rest = self.text[end:close] if _LINE_END.search(self.text, end, close) else self.line_end + outer
        return self.text[:end].rstrip(" \t") + written + rest + self.text[close:]

    def without_member(self, start: int, member: _Member) -> str:
        """Return the text without a member of the object at `start`; comments around it stay."""
        text, members = self.text, self.members(start)
        index, at = members.index(member), member.start
        after = self._skip(member.end, self.bare)
        if self.bare[after] == ",":
            text = text[:at] + text[member.end : after] + text[after + 1 :]
        else:
            text = text[:at] + text[member.end :]
            if index:
                comma = self.bare.index(",", members[index - 1].end)
                text, at = text[:comma] + text[comma + 1 :], at - 1
        line, blanks = _LAST_LINE.search(text, 0, at), _BLANKS.match(text, at)
        end = at if blanks is None else blanks.end()
        # A line with nothing else on it goes too.
        begin = line.start() if line is not None and text[end : end + 1] in ("", "\r", "\n") else at
        text = text[:begin] + text[end:]
        rest = text[start + 1 :].lstrip(" \t\r\n")
        return text[: start + 1] + rest if len(members) == 1 and rest.startswith("}") else text

    def indented(self, content: EntryValue, margin: str) -> str:
        """Return a value as text over several lines, which begins on a line with that margin."""
        return json.dumps(content, indent=self._unit(), ensure_ascii=False).replace("\n", self.line_end + margin)

    def margin(self, at: int) -> str:
        """Return the white space before the text of the line of `at`."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at].removeprefix(_BYTE_ORDER_MARK)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        found = _STEP.search(self.bare)
        return found[1] if found else _UNIT

    def _skip(self, at: int, text: str | None = None) -> int:
        space = _SPACE.match(self.plain if text is None else text, at)
        return at if space is None else space.end()


def _loaded(plain: str) -> Any:
    try:
        return json.loads(plain)
    except RecursionError as error:
        raise InvalidText("it is nested too deep") from error
    except ValueError as error:
        raise InvalidText(str(error)) from error


def nested(path: Sequence[str], content: EntryValue) -> EntryValue:
    """Return a value in objects with the names of `path`, from the root down."""
    for name in reversed(path):
        content = {name: content}
    return content


def parse_toml(text: str) -> dict[str, EntryValue]:
    """Return the content of a TOML text. Raises InvalidText."""
    try:
        return read_toml(text.removeprefix(_BYTE_ORDER_MARK), most_characters=_MAX_TOML_CHARACTERS)
    except BadToml as error:
        raise InvalidText(str(error)) from error


def put_table(text: str, path: Sequence[str], entry: ClientEntry) -> str:
    """Return a TOML text with a table at `path`: in the place of the existing one, else at the end."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = _toml_table(path, entry).replace("\n", line_end)
    span = _span(text, path)
    if span is not None:
        return text[: span[0]] + written + text[span[1] :]
    end = "" if not text or text.endswith("\n") else line_end
    return text + end + (line_end if text.strip() else "") + written


def drop_table(text: str, path: Sequence[str]) -> str:
    """Return a TOML text without the table at `path` and those below it, and one empty line. Raises InvalidText."""
    span = _span(text, path)
    if span is None:
        raise InvalidText(f"{'.'.join(path)} has no table of its own")
    return re.sub(r"(\r?\n)\r?\n\Z", r"\1", text[: span[0]]) + text[span[1] :]


def _toml_table(path: Sequence[str], entry: ClientEntry) -> str:
    """Return an entry as TOML, each object in it as a table."""
    import tomlkit

    heading = ".".join(tomlkit.key(part).as_string() for part in path)
    plain = {key: value for key, value in entry.items() if not isinstance(value, dict)}
    tables = [_toml_table((*path, key), value) for key, value in entry.items() if isinstance(value, dict)]
    return "\n".join([f"[{heading}]\n{tomlkit.dumps(plain)}", *tables])


def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the tables at and below `path` begin and end, without the comments before the next table."""
    lines = text.splitlines(keepends=True)
    headings = [(number, _keys(line)) for number, line in enumerate(lines) if _HEADING.match(line)]
    ours = [index for index, (_, keys) in enumerate(headings) if keys[: len(path)] == tuple(path)]
    if not ours:
        return None
    start = headings[ours[0]][0]
    stop = headings[ours[-1] + 1][0] if ours[-1] + 1 < len(headings) else len(lines)
    while not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#"):
        stop -= 1
    return len("".join(lines[:start])), len("".join(lines[:stop]))


def _keys(line: str) -> tuple[str, ...]:
    heading = _HEADING.match(line)
    return tuple(key.strip(" \t\"'") for key in heading[1].split(".")) if heading else ()
