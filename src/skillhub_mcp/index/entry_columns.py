"""What each start needs of all skills, as columns beside the lines that say it: read in a third of the time.

The columns are of a state's entries as these were written at once, and repeat what their lines say (`state_entries`):
where the file is missing, damaged or another's, the lines are read. It is a row of blocks, each with a head that says
how many bytes of the lines it is of.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, BinaryIO, NamedTuple

# A block is read, checked and taken apart at once, and a library with fewer skills has no columns.
_ROWS = 8_192
_FORMAT = 1
_INTEGER, _PLACE = "q", "H"
MOST_INTEGER = 2**63 - 1


class LineRow(NamedTuple):
    """What one line says as nearly all do; `begin` is the byte where it begins. No text has a line break.

    `diagnostics`, `shape` and `given` are JSON; `given` has those fields that are asked of all skills, and is empty
    where the line has none. Of a line that is not as nearly all are only `begin` is told, and `key` is empty.
    """

    key: str
    mtime_ns: int
    ctime_ns: int
    size: int
    read_at_ns: int
    digest: str
    diagnostics: str
    shape: str
    name: str
    begin: int
    given: str


_INTEGERS = ("mtime_ns", "ctime_ns", "size", "read_at_ns", "begin")
_TEXTS = ("key", "digest", "name")
# Nearly the same in all lines: each text is written once.
_REPEATED = ("diagnostics", "shape", "given")
_BLOCKS = len(_INTEGERS) + len(_TEXTS) + 2 * len(_REPEATED)


def other_line(begin: int) -> LineRow:
    """Return the row of a line that is not as nearly all are."""
    return LineRow("", 0, 0, 0, 0, "", "", "", "", begin, "")


class ColumnsWriter:
    """Writes the columns of rows that come in the order of their lines."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rows: list[LineRow] = []
        self._begin = 0

    def add(self, row: LineRow) -> None:
        """Add a row. Raises OSError."""
        if len(self._rows) == _ROWS:
            self._write(row.begin)
        self._rows.append(row)

    def finish(self, end: int) -> bool:
        """Write the rest, of lines that end at byte `end`; return whether there are so many that it is of use.

        Raises OSError.
        """
        many = self._begin > 0
        if many:
            self._write(end)
        return many

    def _write(self, end: int) -> None:
        columns = dict(zip(LineRow._fields, zip(*self._rows, strict=True), strict=True))
        blocks = [array(_INTEGER, columns[name]).tobytes() for name in _INTEGERS]
        blocks += [_joined(columns[name]) for name in _TEXTS]
        for name in _REPEATED:
            places: dict[str, int] = {}
            numbers = array(_PLACE, [places.setdefault(text, len(places)) for text in columns[name]])
            blocks += [_joined(places), numbers.tobytes()]
        content = b"".join(blocks)
        head = {
            "format": _FORMAT,
            "order": sys.byteorder,
            "begin": self._begin,
            "end": end,
            "sizes": list(map(len, blocks)),
            "sum": zlib.crc32(content),
        }
        self._file.write(json.dumps(head).encode("ascii") + b"\n" + content)
        self._rows, self._begin = [], end


class Columns:
    """Some thousand `LineRow`s, each of their fields as a column, which is taken apart when it is asked for first.

    What is asked of it raises ValueError, LookupError or TypeError for columns that say something else.
    """

    def __init__(self, blocks: Sequence[bytes]) -> None:
        found = iter(blocks)
        self._integers = {name: next(found) for name in _INTEGERS}
        self._texts = {name: next(found) for name in _TEXTS}
        self._repeated = {name: (next(found), next(found)) for name in _REPEATED}
        keys = _parted(self._texts["key"])
        self._columns: dict[str, Sequence[Any]] = {"key": keys}
        self._rows = len(keys)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, field: str) -> Sequence[Any]:
        """Return a field of all rows."""
        column = self._columns.get(field)
        if column is None:
            column = self._columns[field] = self._parted(field)
            if len(column) != self._rows:
                raise ValueError("the columns are of different lengths")
        return column

    def different(self, field: str) -> Sequence[str]:
        """Return the different texts of a field that has nearly the same in all rows."""
        return _parted(self._repeated[field][0])

    def rows(self, numbers: Sequence[int] | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield the rows with these numbers, or all: tuples of the fields of a `LineRow`."""
        columns = [self[field] for field in LineRow._fields]
        if numbers is None:
            return zip(*columns, strict=True)
        return (tuple([column[number] for column in columns]) for number in numbers)

    def _parted(self, field: str) -> Sequence[Any]:
        if field in self._integers:
            return array(_INTEGER, self._integers[field])
        if field in self._texts:
            return _parted(self._texts[field])
        texts, numbers = self._repeated[field]
        return list(map(_parted(texts).__getitem__, array(_PLACE, numbers)))


def read_columns(file: BinaryIO, end: int) -> Iterator[Columns]:
    """Yield the columns that a file has of the lines from the first byte to `end`, of some thousand rows at once.

    Raises ValueError, LookupError or TypeError for a file that says something else, and OSError.
    """
    at = 0
    while at < end:
        head = json.loads(file.readline())
        known = (head["format"], head["order"], head["begin"]) == (_FORMAT, sys.byteorder, at)
        if not known or not at < head["end"] <= end or len(head["sizes"]) != _BLOCKS:
            raise ValueError("the columns are of other lines")
        at = head["end"]
        content = file.read(sum(head["sizes"]))
        if zlib.crc32(content) != head["sum"]:
            raise ValueError("the columns are damaged")
        ends = accumulate(head["sizes"], initial=0)
        yield Columns([content[begin:stop] for begin, stop in pairwise(ends)])


def _joined(texts: Iterable[str]) -> bytes:
    return "\n".join(texts).encode("utf-8", "surrogateescape")


def _parted(block: bytes) -> list[str]:
    return block.decode("utf-8", "surrogateescape").split("\n")
