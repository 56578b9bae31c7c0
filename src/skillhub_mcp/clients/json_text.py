"""JSON with comments and trailing commas as text: reading it with the place of each member, and changing one member.

A change replaces one run of characters. Whatever lies outside it keeps its indentation, line ends and comments.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillhub_mcp.clients.model import EntryValue

_MAX_DEPTH = 100
_DEFAULT_UNIT = "  "
_BYTE_ORDER_MARK = "\ufeff"

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_WHITE = " \t\r\n"
_OPEN_COMMENT = re.compile(r"//[^\r\n]*$")
_LINE_END = re.compile(r"\r\n|\n|\r")
_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\r\n]*?\*/)*(?://[^\r\n]*)?")


class InvalidText(ValueError):
    """A text that is not in the language of its file, or cannot be changed safely; the message says why, and where."""


@dataclass(frozen=True, slots=True)
class ObjectMember:
    """One member of an object: its name, where the name begins, and its value."""

    name: str
    start: int
    value: ValueNode


@dataclass(frozen=True, slots=True)
class ValueNode:
    """A value in a text: where it begins and ends, what it is, and, of an object, its members.

    `comma` is the place of a comma behind the last member, or -1.
    """

    start: int
    end: int
    content: EntryValue
    members: tuple[ObjectMember, ...] = ()
    comma: int = -1

    @property
    def is_object(self) -> bool:
        """Whether this is an object."""
        return isinstance(self.content, dict)

    def named(self, name: str) -> list[ObjectMember]:
        """Return the members of that name: more than one where the text repeats it."""
        return [member for member in self.members if member.name == name]


def parse_json(text: str) -> EntryValue:
    """Return what a text says; None for one with nothing but comments. Raises InvalidText."""
    root = read_json(text)
    return None if root is None else root.content


def read_json(text: str) -> ValueNode | None:
    """Return the value of a text, with the place of each of its members; None for one with nothing but comments.

    Raises InvalidText.
    """
    reader = _Reader(text)
    reader.at = len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0
    reader.skip()
    if reader.at == len(text):
        return None
    root = reader.value(0)
    reader.skip()
    if reader.at != len(text):
        raise reader.wrong("there is something behind the end of the value")
    return root


def put_member(text: str, path: Sequence[str], content: EntryValue) -> str:
    """Return `text` with `content` at `path`, a list of names from the root down. Objects that are missing are made.

    A member that is there gets the new content in its place; a new one follows the last. Raises InvalidText where the
    text is invalid, a name on the path is there twice, or leads to something other than an object.
    """
    root = read_json(text)
    layout = _Layout.of(text, root)
    if root is None:
        return _first_object(text, layout.value(_nested(path, content), ""), layout)
    parent, depth = _deepest(root, path)
    found = parent.named(path[depth])
    if found:
        old = found[0].value
        if json.dumps(old.content) == json.dumps(content):
            return text
        on_one_line = bool(old.members) and not _LINE_END.search(text, old.start, old.end)
        new = layout.inline(content) if on_one_line else layout.value(content, layout.indentation(found[0].start))
        return _spliced(text, old.start, old.end, new)
    return _with_member(text, parent, path[depth], _nested(path[depth + 1 :], content), layout)


def drop_member(text: str, path: Sequence[str]) -> str:
    """Return `text` without the member at `path`, and its comma. Raises InvalidText, also where there is none."""
    root = read_json(text)
    if root is None:
        raise InvalidText("it is empty")
    parent, depth = _deepest(root, path)
    found = parent.named(path[depth])
    if depth != len(path) - 1 or not found:
        raise InvalidText(f"it has no {'.'.join(path)}")
    return _without_member(text, parent, parent.members.index(found[0]))


def _nested(path: Sequence[str], content: EntryValue) -> EntryValue:
    for name in reversed(path):
        content = {name: content}
    return content


def _deepest(root: ValueNode, path: Sequence[str]) -> tuple[ValueNode, int]:
    """Return the deepest object on `path` that may hold its next name, and how many names lead to it."""
    node, depth = root, 0
    while True:
        where = " of ".join([repr(name) for name in reversed(path[:depth])] + ["the file"])
        if not node.is_object:
            raise InvalidText(f"{where} is not an object")
        found = node.named(path[depth])
        if len(found) > 1:
            raise InvalidText(f"{where} has {path[depth]!r} twice")
        if not found or depth == len(path) - 1:
            return node, depth
        node, depth = found[0].value, depth + 1


def _first_object(text: str, written: str, layout: _Layout) -> str:
    """Return a text without a value, with one: before white space, behind comments."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    rest = text.removeprefix(mark)
    if not rest.strip():
        return mark + written + (rest or layout.line_end)
    separator = "" if rest.endswith(("\n", "\r")) else layout.line_end
    return text + separator + written + layout.line_end


def _with_member(text: str, parent: ValueNode, name: str, content: EntryValue, layout: _Layout) -> str:
    if not parent.members:
        return _with_first_member(text, parent, name, content, layout)
    last = parent.members[-1]
    trailing = "," if parent.comma >= 0 else ""
    end = parent.comma + 1 if trailing else last.value.end
    comma = "" if trailing else ","
    if not _LINE_END.search(text, parent.start, last.start):
        # The object begins on one line with its members, and goes on there.
        space = " " if layout.is_spaced else ""
        return _spliced(text, end, end, comma + space + layout.inline_member(name, content) + trailing)
    rest = _REST_OF_LINE.match(text, end)
    line = end if rest is None else rest.end()
    if not _LINE_END.match(text, line):
        line = end
    indentation = layout.indentation(last.start)
    written = layout.line_end + indentation + layout.member(name, content, indentation)
    return _spliced(text, end, line, comma + text[end:line] + written + trailing)


def _with_first_member(text: str, parent: ValueNode, name: str, content: EntryValue, layout: _Layout) -> str:
    close = parent.end - 1
    inside = text[parent.start + 1 : close]
    if layout.is_one_line and not inside.strip():
        return _spliced(text, parent.start + 1, close, layout.inline_member(name, content))
    outer = layout.indentation(parent.start)
    indentation = outer + layout.unit
    written = layout.line_end + indentation + layout.member(name, content, indentation)
    # Comments stay before the member, and the brace on a line of its own.
    end = parent.start + 1 + len(inside.rstrip(_WHITE))
    after = text[end:close]
    kept = after if inside.strip() and _LINE_END.search(after) else layout.line_end + outer
    return _spliced(text, end, close, written + kept)


def _without_member(text: str, parent: ValueNode, index: int) -> str:
    member = parent.members[index]
    if len(parent.members) == 1:
        start, end = parent.start + 1, parent.end - 1
        stop = parent.comma + 1 if parent.comma >= 0 else member.value.end
        behind = text[member.value.end : parent.comma] if parent.comma >= 0 else ""
        kept = _closed(text[start : member.start], behind + text[stop:end])
        return _spliced(text, start, end, kept if kept.strip() else "")
    if index < len(parent.members) - 1:
        following = parent.members[index + 1]
        between = text[member.value.end : following.start]
        comma = _comma_in(between)
        # A comment before the comma and one behind it are kept: they may be about the next member.
        kept = between[:comma] + between[comma + 1 :].lstrip(_WHITE)
        return _spliced(text, member.start, following.start, kept.lstrip(_WHITE))
    previous = parent.members[index - 1]
    between = text[previous.value.end : member.start]
    if parent.comma >= 0:
        # The comma before it is now the one behind the last member.
        kept = _closed(between, text[member.value.end : parent.comma] + text[parent.comma + 1 : parent.end - 1])
    else:
        comma = _comma_in(between)
        kept = _closed(between[:comma] + between[comma + 1 :], text[member.value.end : parent.end - 1])
    return _spliced(text, previous.value.end, parent.end - 1, kept)


def _closed(before: str, after: str) -> str:
    """Return what stood before a member and what stood behind it, as one: a line comment keeps its line's end."""
    kept = before.rstrip(_WHITE)
    if _OPEN_COMMENT.search(kept) and not _LINE_END.match(after.lstrip(" \t")):
        return before + after
    return kept + after


def _comma_in(between: str) -> int:
    """Return the place of the comma between two members, where comments may hold others."""
    reader = _Reader(between)
    reader.skip()
    return reader.at


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a text is laid out: its line end, one step of indentation, whether it is all on one line, and spaces."""

    text: str
    line_end: str
    unit: str
    is_one_line: bool
    is_spaced: bool

    @staticmethod
    def of(text: str, root: ValueNode | None) -> _Layout:
        found = _LINE_END.search(text)
        line_end = "\n" if found is None else found[0]
        one_line = root is not None and bool(root.members) and not _LINE_END.search(text, root.start, root.end)
        spaced = not one_line or re.search(r'":\s', text) is not None
        layout = _Layout(text, line_end, _DEFAULT_UNIT, is_one_line=one_line, is_spaced=spaced)
        return layout if root is None else replace(layout, unit=layout.unit_below(root))

    def unit_below(self, root: ValueNode) -> str:
        """Return how much deeper the first member that begins a line is than the object it is in."""
        pending = deque([root])
        while pending:
            node = pending.popleft()
            outer: str | None = None
            for member in node.members:
                pending.append(member.value)
                begin = member.start
                while begin > node.start and self.text[begin - 1] in " \t":
                    begin -= 1
                if begin == node.start or self.text[begin - 1] not in "\r\n":
                    continue
                inner = self.text[begin : member.start]
                # Only now: of a text on one line, each member would have its beginning looked for.
                outer = self.indentation(node.start) if outer is None else outer
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return _DEFAULT_UNIT

    def indentation(self, at: int) -> str:
        """Return the white space that begins the line of a place."""
        begin = max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1
        line = self.text[begin:at].removeprefix(_BYTE_ORDER_MARK)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def value(self, content: EntryValue, indentation: str) -> str:
        """Return a value as text, its lines after the first indented by `indentation`."""
        if self.is_one_line:
            return self.inline(content)
        dumped = json.dumps(content, indent=self.unit, ensure_ascii=False)
        return dumped.replace("\n", self.line_end + indentation)

    def inline(self, content: EntryValue) -> str:
        """Return a value on one line, with spaces where the text has them."""
        return json.dumps(content, separators=(", ", ": ") if self.is_spaced else (",", ":"), ensure_ascii=False)

    def member(self, name: str, content: EntryValue, indentation: str) -> str:
        """Return a member whose value may take several lines."""
        return f"{json.dumps(name, ensure_ascii=False)}: {self.value(content, indentation)}"

    def inline_member(self, name: str, content: EntryValue) -> str:
        """Return a member on one line."""
        colon = ": " if self.is_spaced else ":"
        return f"{json.dumps(name, ensure_ascii=False)}{colon}{self.inline(content)}"


class _Reader:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def wrong(self, what: str) -> InvalidText:
        """Return the error for what is wrong at this place."""
        what = "the text ends too early" if self.at >= len(self._text) else what
        line = len(_LINE_END.findall(self._text, 0, self.at)) + 1
        column = self.at - max(self._text.rfind("\n", 0, self.at), self._text.rfind("\r", 0, self.at))
        return InvalidText(f"{what} (line {line}, column {column})")

    def skip(self) -> None:
        """Pass white space and comments."""
        while True:
            space = _SPACE.match(self._text, self.at)
            self.at = self.at if space is None else space.end()
            if self._text.startswith("/", self.at):
                comment = _COMMENT.match(self._text, self.at)
                if comment is None:
                    raise self.wrong("a comment does not end")
                self.at = comment.end()
                continue
            return

    def value(self, depth: int) -> ValueNode:
        """Read one value."""
        if depth > _MAX_DEPTH:
            raise self.wrong(f"it is nested more than {_MAX_DEPTH} deep")
        start = self.at
        if self._text.startswith("{", start):
            return self._object(depth)
        if self._text.startswith("[", start):
            return self._array(depth)
        if self._text.startswith('"', start):
            content = self._string()
            return ValueNode(start, self.at, content)
        scalar = _SCALAR.match(self._text, start)
        if scalar is None or not scalar[0]:
            raise self.wrong("a value is missing")
        try:
            content = json.loads(scalar[0])
        except ValueError as error:
            # Python reads no whole number of thousands of digits, which would take long.
            raise self.wrong("a number is too long") from error
        self.at = scalar.end()
        return ValueNode(start, self.at, content)

    def _string(self) -> str:
        found = _STRING.match(self._text, self.at)
        if found is None:
            raise self.wrong("a text in quotes is invalid or does not end")
        self.at = found.end()
        return str(json.loads(found[0]))

    def _object(self, depth: int) -> ValueNode:
        start, comma = self.at, -1
        members: list[ObjectMember] = []
        self.at += 1
        while True:
            self.skip()
            if self._text.startswith("}", self.at):
                self.at += 1
                content = {member.name: member.value.content for member in members}
                return ValueNode(start, self.at, content, tuple(members), comma)
            if members and comma < 0:
                raise self.wrong("a comma or a closing brace is missing")
            begin = self.at
            if not self._text.startswith('"', begin):
                raise self.wrong("a name in quotes is missing")
            name = self._string()
            self.skip()
            if not self._text.startswith(":", self.at):
                raise self.wrong("a colon is missing")
            self.at += 1
            self.skip()
            members.append(ObjectMember(name, begin, self.value(depth + 1)))
            self.skip()
            comma = self._comma()

    def _array(self, depth: int) -> ValueNode:
        start, comma = self.at, -1
        items: list[ValueNode] = []
        self.at += 1
        while True:
            self.skip()
            if self._text.startswith("]", self.at):
                self.at += 1
                return ValueNode(start, self.at, [item.content for item in items])
            if items and comma < 0:
                raise self.wrong("a comma or a closing bracket is missing")
            items.append(self.value(depth + 1))
            self.skip()
            comma = self._comma()

    def _comma(self) -> int:
        """Pass a comma, and return its place; -1 where there is none."""
        if not self._text.startswith(",", self.at):
            return -1
        self.at += 1
        return self.at - 1
