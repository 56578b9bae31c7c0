"""The entries of an index's state: one line of JSON for each SKILL.md that was read, in a file that is appended to.

A later line takes the place of an earlier one with the same key, and a line of nothing but a key removes it. Who reads
the file knows how many bytes of it were committed (`state`); what lies behind them never was.

Of a large library most of a line is left in the file until somebody asks for it: names, paths and stamps are needed at
each start, the description of one skill hardly ever. What was committed is never changed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from skillhub_mcp.errors import IndexUnavailable
from skillhub_mcp.index.entry_columns import MOST_INTEGER, Columns, ColumnsWriter, LineRow, other_line, read_columns
from skillhub_mcp.index.keys import RootKeys, label_of
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.overlay import as_dict
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill, text_of_unread, unread_skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile

log = logging.getLogger(__name__)

# Parsed at once: larger blocks are no faster, and take memory that stays with the process.
_BLOCK_BYTES = 1 << 18
_MANY_BYTES = 1 << 21
# More than nearly all lines have.
_LINE_BYTES = 2_048
# What was read last of so many skills stays, a kilobyte or two of each.
_KEPT_SKILLS = 4_096
# Categories and tags are few; where each skill has its own, they are not kept.
_KEPT_FIELDS = 1_024

_PLAIN = rb'"([^"\\]*)"'
_ANY = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_DIAGNOSTIC = rb'\[(?:[^"\[\]]|' + _ANY + rb")*\]"
# How the line of a skill begins, as nearly all do: with nothing escaped in its key and its name.
_USUAL = re.compile(
    rb"\["
    + _PLAIN
    + rb",(\d+),(\d+),(\d+),(\d+),"
    + _PLAIN
    + rb",(\[(?:"
    + _DIAGNOSTIC
    + rb",?)*\]),(\[[^\]]*\]),"
    + _PLAIN
    + rb',"'
)
_END_OF_USUAL = b"}]"
# Between a description and what only some skills have.
_OPTIONAL = b'",{"'
# What everybody asks of all skills is not left for later.
_ASKED_OF_ALL = ("always_apply", "disable_model_invocation", "not_user_invocable", "category", "tags")
_ONE_ASKED = re.compile(rb'"(?:' + "|".join(_ASKED_OF_ALL).encode() + rb')"')

_NOTHING_GIVEN: Mapping[str, Any] = {}

# By label and directory.
Entries = Mapping[str, Mapping[str, CachedSkillFile]]
_Own = dict[str, CachedSkillFile]


def encode_entries(keys: RootKeys, entries: Iterable[tuple[str, CachedSkillFile | None]]) -> Iterator[bytes]:
    """Yield a line for each entry of a root, by its directory; None for one that is gone. Raises UnicodeEncodeError."""
    dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    for directory, entry in entries:
        key = keys.key(directory)
        unread = None if entry is None or entry.skill is None else text_of_unread(entry.skill)
        if unread is not None and isinstance(unread[0], EntriesText):
            line = unread[0].line(unread[1])
            if line.startswith(f"[{dumps(key)},".encode("utf-8", "surrogateescape")):
                yield line + b"\n"
                continue
        yield (dumps([key] if entry is None else _row(key, entry)) + "\n").encode("utf-8", "surrogateescape")


def write_columns(file: BinaryIO, lines: BinaryIO, end: int) -> bool:
    """Write the columns of the lines that a file has up to byte `end`, and return whether they are of use.

    Raises OSError, and ValueError for a file that has no such lines.
    """
    writer = ColumnsWriter(file)
    for at, block in whole_lines(lines, 0, end):
        for row in _rows_of(block, at):
            writer.add(_as_column(row))
    return writer.finish(end)


def read_entries(
    file: BinaryIO,
    begin: int,
    end: int,
    roots: Mapping[str, RootKeys],
    known: Entries,
    *,
    columns: str | None = None,
    compact: int = 0,
) -> Entries:
    """Return the entries that `known` and the lines from byte `begin` to `end` of a file are, by label and directory.

    `columns` is the path of those of the lines up to byte `compact`, where there may be some. Raises OSError, and
    ValueError, LookupError or TypeError for a file that says something else.
    """
    found: dict[str, _Own] = {}
    many = end - begin > _MANY_BYTES
    if os.fstat(file.fileno()).st_size < end:
        raise ValueError("the file ends too early")
    decoder = LateDecoder(EntriesText(file)) if many and hasattr(os, "pread") else _Decoder()
    if columns is not None and begin == 0 and isinstance(decoder, LateDecoder):
        try:
            with open(columns, "rb") as blocks:
                decoder.add_columns(blocks, compact, found, known, roots)
            begin = compact
        except (OSError, ValueError, LookupError, TypeError) as error:
            log.debug("The columns of the index's entries cannot be read, and the lines are: %s", error)
            found = {}
    for at, block in whole_lines(file, begin, end):
        decoder.add(block, at, found, known, roots)
    return {**known, **found}


def entries_of_lines(lines: bytes, roots: Mapping[str, RootKeys]) -> dict[str, dict[str, CachedSkillFile | None]]:
    """Return the entries that some lines are, by label and directory, None for what is gone; only those of `roots`.

    Raises ValueError, LookupError or TypeError for lines that say something else.
    """
    decoder = _Decoder()
    found: dict[str, dict[str, CachedSkillFile | None]] = {}
    for key, row in decoder.rows(lines) if lines else ():
        own = roots.get(label_of(key))
        if own is not None:
            place = own.directory(key)
            found.setdefault(own.label, {})[place] = None if row is None else decoder.entry(place, own.path, row)
    return found


def can_be_read(entry: CachedSkillFile) -> bool:
    """Whether what an entry has left in the file is there."""
    unread = None if entry.skill is None else text_of_unread(entry.skill)
    try:
        return unread is None or bool(unread[0].values(unread[1]))
    except IndexUnavailable:
        return False


def earlier_entries(files: Mapping[str, Any], root: str) -> dict[str, CachedSkillFile]:
    """Return the entries of one root from a state of format 3 or 4, which had them in one document, by directory.

    Raises ValueError, LookupError or TypeError.
    """
    decoder, found = _Decoder(), {}
    for directory, file in files.items():
        # A state of an early release has no ctime: no file has this one, so each is read once more.
        stamp = [file["mtime_ns"], file.get("ctime_ns", 0), file["size"], file["read_at_ns"], file["sha256"]]
        skill = file.get("skill")
        of_skill = [] if skill is None else [file["header"], skill["name"], skill["description"], skill]
        found[directory] = decoder.entry(directory, root, ["", *stamp, file.get("diagnostics", ()), *of_skill])
    return found


def whole_lines(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines of a file, each with the byte where they begin. Raises ValueError where there are no such."""
    rest, at, left = b"", begin, end - begin
    file.seek(begin)
    while left:
        read = file.read(min(left, _BLOCK_BYTES))
        if not read:
            raise ValueError("the file ends too early")
        left -= len(read)
        lines, between, rest = (rest + read).rpartition(b"\n")
        if between:
            yield at, lines
            at += len(lines) + 1
    if rest:
        raise ValueError("the last line has no end")


def _row(key: str, entry: CachedSkillFile) -> list[object]:
    stamp, skill, shape = entry.stamp, entry.skill, entry.shape
    row: list[object] = [
        key,
        stamp.mtime_ns,
        stamp.ctime_ns,
        stamp.size,
        stamp.read_at_ns,
        stamp.content_hash,
        [[d.rule, d.severity.value, d.message, d.hint, d.line] for d in entry.diagnostics],
    ]
    if skill is None:
        return row
    header = [shape.lines, shape.longest, shape.longest_at, shape.markup]
    return [*row, header, skill.name, skill.description, _optional(skill)]


def _optional(skill: Skill) -> dict[str, object]:
    values = {
        "category": skill.category,
        "tags": skill.tags,
        "always_apply": skill.always_apply,
        "allowed_tools": skill.allowed_tools,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": skill.metadata,
        "version": skill.version,
        "author": skill.author,
        "allowed_tools_text": skill.allowed_tools_text,
        "disable_model_invocation": skill.disable_model_invocation,
        "not_user_invocable": not skill.user_invocable,
        "argument_hint": skill.argument_hint,
    }
    return {key: value for key, value in values.items() if value}


class EntriesText:
    """The file of entries, for skills that have not been read whole. It stays open for as long as there is one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = os.dup(file.fileno())
        self._lock = threading.Lock()
        self._last = LRUCache[int, Mapping[str, Any]](_KEPT_SKILLS)

    def __del__(self) -> None:
        os.close(self._file)

    def line(self, at: int) -> bytes:
        """Return the line that begins at byte `at`, without its end. Raises OSError and ValueError."""
        read = os.pread(self._file, _LINE_BYTES, at)
        while b"\n" not in read[-_LINE_BYTES:]:
            more = os.pread(self._file, _LINE_BYTES, at + len(read))
            if not more:
                raise ValueError("the file ends too early")
            read += more
        return read.partition(b"\n")[0]

    def values(self, at: int) -> Mapping[str, Any]:
        """Return the fields of the skill whose line begins at byte `at`. Raises IndexUnavailable."""
        with self._lock:
            known = self._last.get(at)
        if known is not None:
            return known
        try:
            *_, description, optional = json.loads(self.line(at).decode("utf-8", "surrogateescape"))
            found = _Decoder().fields(description, optional)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise IndexUnavailable(
                f"What was read from a skill is lost: {error}", hint="run skillhub index --repair, and start again"
            ) from error
        with self._lock:
            self._last.put(at, found)
        return found


class _Decoder:
    """Makes entries of rows. What many of them say alike is one object for all."""

    def __init__(self) -> None:
        self._diagnostics: dict[tuple[object, ...], Diagnostic] = {}
        self._shared: dict[Any, Any] = {}

    def add(self, lines: bytes, _: int, found: dict[str, _Own], known: Entries, roots: Mapping[str, RootKeys]) -> None:
        """Add to `found` what whole lines say over what was `known`, by label and directory."""
        for key, row in self.rows(lines):
            label = label_of(key)
            own = _own_of(label, found, known)
            directory = roots[label].directory(key)
            if row is None:
                own.pop(directory, None)
            else:
                own[directory] = self.entry(directory, roots[label].path, row)

    def rows(self, lines: bytes) -> Iterator[tuple[str, Any]]:
        """Yield the key and the row of each line, None for the row of what is gone."""
        for row in json.loads("[" + lines.decode("utf-8", "surrogateescape").replace("\n", ",") + "]"):
            yield row[0], row if len(row) > 1 else None

    def entry(self, directory: str, root: str, row: Any) -> CachedSkillFile:
        """Return the entry that a row says."""
        _, mtime_ns, ctime_ns, size, read_at_ns, content_hash, found, *of_skill = row
        # Types are checked only here: other code trusts them, and one wrong value would fail every scan.
        if not (mtime_ns.__class__ is ctime_ns.__class__ is size.__class__ is read_at_ns.__class__ is int):
            raise TypeError(directory)
        if content_hash.__class__ is not str:
            raise TypeError(directory)
        stamp = FileStamp(mtime_ns, size, content_hash, read_at_ns, ctime_ns)
        diagnostics = self.diagnostics(found)
        if not of_skill:
            return CachedSkillFile(root, stamp, None, diagnostics)
        header, name, description, optional = of_skill
        shape = _shape(header)
        if name.__class__ is not str:
            raise TypeError(directory)
        fields = self.fields(description, optional)
        skill = Skill(name=name, directory=directory, root=root, diagnostics=diagnostics, stamp=stamp, **fields)
        return CachedSkillFile(root, stamp, skill, diagnostics, shape)

    def fields(self, description: str, optional: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a skill that its line has at its end, by name."""
        if description.__class__ is not str:
            raise TypeError(description)
        shared, given = self._shared.setdefault, {}
        for key, value in optional.items():
            # Licences, authors and tags are few, and of much the same length as the objects that refer to them.
            given[key] = shared(value, value) if value.__class__ is str else value
        tags, tools = given.get("tags", ()), given.get("allowed_tools", ())
        return {
            "description": description,
            "category": given.get("category"),
            "tags": tuple([shared(tag, tag) for tag in tags]) if tags else (),
            "always_apply": given.get("always_apply", False),
            "allowed_tools": tuple([shared(tool, tool) for tool in tools]) if tools else (),
            "license": given.get("license"),
            "compatibility": given.get("compatibility"),
            "metadata": given.get("metadata", {}),
            "version": given.get("version"),
            "author": given.get("author"),
            "allowed_tools_text": given.get("allowed_tools_text"),
            "disable_model_invocation": given.get("disable_model_invocation", False),
            "user_invocable": not given.get("not_user_invocable", False),
            "argument_hint": given.get("argument_hint"),
        }

    def diagnostics(self, found: list[list[Any]]) -> tuple[Diagnostic, ...]:
        """Return what was found in a file."""
        return tuple([self._diagnostic(*one) for one in found]) if found else ()

    def _diagnostic(self, rule: str, severity: str, message: str, hint: str, line: int | None) -> Diagnostic:
        given = (rule, severity, message, hint, line)
        found = self._diagnostics.get(given)
        if found is None:
            found = self._diagnostics[given] = Diagnostic(rule, Severity(severity), message, hint, line)
        return found


class LateDecoder(_Decoder):
    """Leaves most of a usual line in the file until somebody asks for it."""

    def __init__(self, text: EntriesText) -> None:
        super().__init__()
        self._text = text
        self._found: dict[str, tuple[Diagnostic, ...]] = {}
        self._shapes: dict[str, HeaderShape] = {}
        self._fields: dict[str, Mapping[str, Any]] = {}

    def add(self, lines: bytes, at: int, found: dict[str, _Own], known: Entries, roots: Mapping[str, RootKeys]) -> None:
        self.add_rows(_rows_of(lines, at), found, known, roots)

    def add_columns(
        self, columns: BinaryIO, end: int, found: dict[str, _Own], known: Entries, roots: Mapping[str, RootKeys]
    ) -> None:
        """Add to `found` what the columns of the lines up to byte `end` say, as `add` does. Raises as `read_columns`.

        One line of each block is looked at: a file that was changed or exchanged is not taken for what it was.
        """
        for block in read_columns(columns, end):
            self.check(block)
            self.add_rows(block.rows(), found, known, roots)

    def check(self, block: Columns) -> None:
        """Raise ValueError unless the first row of some columns is that of a line. Raises OSError."""
        key, begin = block["key"][0], block["begin"][0]
        if key and not self._text.line(begin).startswith(f'["{key}",'.encode("utf-8", "surrogateescape")):
            raise ValueError("the columns are of other lines")

    def add_rows(
        self, rows: Iterable[tuple[Any, ...]], found: dict[str, _Own], known: Entries, roots: Mapping[str, RootKeys]
    ) -> None:
        """Add to `found` what rows say, each with the fields of a `LineRow`, as `add` does what lines say."""
        text, make = self._text, tuple.__new__
        # Of a large library the loop is gone through a hundred thousand times at each start.
        start, root = None, ""
        own: _Own = {}
        place: Callable[[str], str] = str
        for key, mtime_ns, ctime_ns, size, read_at_ns, digest, said, header, name, begin, written in rows:
            given = self._given(written) if written else _NOTHING_GIVEN
            if not key or given is None:
                super().add(text.line(begin), begin, found, known, roots)
                continue
            if start is None or not key.startswith(start):
                label = label_of(key)
                start, own = f"{label}/", _own_of(label, found, known)
                place, root = roots[label].directory, roots[label].path
            directory = place(key)
            # As named tuples are made, without a call of Python for each.
            stamp = make(
                FileStamp, (mtime_ns, size, digest, read_at_ns, mtime_ns if ctime_ns == mtime_ns else ctime_ns)
            )
            diagnostics = self._found.get(said)
            if diagnostics is None:
                diagnostics = self._found[said] = self.diagnostics(json.loads(said))
            shape = self._shapes.get(header)
            if shape is None:
                shape = self._shapes[header] = _shape(json.loads(header))
            skill = unread_skill(name, directory, root, diagnostics, stamp, text, begin, given)
            own[directory] = make(CachedSkillFile, (root, stamp, skill, diagnostics, shape, ""))

    def _given(self, written: str) -> Mapping[str, Any] | None:
        """Return the fields at the end of a line; None where that is a part of one, which looked like them."""
        known = self._fields.get(written)
        if known is None:
            try:
                known = self.fields("", json.loads(written))
            except ValueError:
                return None
            if len(self._fields) < _KEPT_FIELDS:
                self._fields[written] = known
        return known


def _rows_of(lines: bytes, at: int) -> Iterator[LineRow]:
    """Yield what each of some lines says, the first of which begins at byte `at`."""
    usual, asked, make = _USUAL.match, _ONE_ASKED.search, tuple.__new__
    for line in lines.split(b"\n"):
        begin, at = at, at + len(line) + 1
        match = usual(line)
        if match is None or not line.endswith(_END_OF_USUAL):
            yield other_line(begin)
            continue
        given = line[line.rindex(_OPTIONAL, match.end() - 2) + 2 : -1] if asked(line, match.end()) else b""
        key, mtime, ctime, size, read_at, digest, said, header, name = match.groups()
        row = (
            key.decode("utf-8", "surrogateescape"),
            int(mtime),
            int(ctime),
            int(size),
            int(read_at),
            digest.decode("utf-8", "surrogateescape"),
            said.decode("utf-8", "surrogateescape"),
            header.decode("utf-8", "surrogateescape"),
            name.decode("utf-8", "surrogateescape"),
            begin,
            given.decode("utf-8", "surrogateescape"),
        )
        yield make(LineRow, row)


def _as_column(row: LineRow) -> LineRow:
    """Return a row with those of its `given` fields alone that are asked of all skills, as columns can have it."""
    if max(row.mtime_ns, row.ctime_ns, row.size, row.read_at_ns) > MOST_INTEGER:
        # A file may be of the year 2400.
        return other_line(row.begin)
    if not row.given:
        return row
    try:
        fields = json.loads(row.given)
    except ValueError:
        return other_line(row.begin)
    given = {field: fields[field] for field in _ASKED_OF_ALL if field in fields}
    return row._replace(given=json.dumps(given, separators=(",", ":")) if given else "")


def _own_of(label: str, found: dict[str, _Own], known: Entries) -> _Own:
    own = found.get(label)
    if own is None:
        own = found[label] = dict(as_dict(known.get(label, {})))
    return own


def _shape(header: list[Any]) -> HeaderShape:
    shape = HeaderShape(*header)
    if not shape.lines.__class__ is shape.longest.__class__ is int:
        raise TypeError(header)
    return shape
