"""Reading a tar in the one way that every reader reads it: ustar, GNU's long names and pax, files and directories only.

What readers are known to disagree on is refused: a size that is given twice and differs, a name that is given twice,
and bytes behind the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from skillhub_mcp.library.archives.archive_entries import ArchiveEntries, shown_name
from skillhub_mcp.library.tree import TreeEntry

BLOCK = 512
_EXECUTABLE = 0o111
_ZEROS = bytes(BLOCK)
_OCTAL = re.compile(rb" *([0-7]*)[ \0]*")
_BINARY = 0x80
_MOST_HEADER = 1024 * 1024
_MOST_LENGTH_DIGITS = 7
_PIECE = 64 * 1024

_MODE, _SIZE = slice(100, 108), slice(124, 136)
# Readers take a header whose owner, group, time or device is no number for the end of the archive.
_NUMBERS = (_MODE, slice(108, 116), slice(116, 124), slice(136, 148), slice(329, 337), slice(337, 345))

_POSIX, _MAGIC_AT, _PREFIX = b"ustar\0", 257, slice(345, 500)
_FILES = (b"0", b"\0", b"7")
_DIRECTORY = b"5"
_LONG_NAME, _LONG_TARGET, _PAX, _GLOBAL_PAX = b"L", b"K", b"x", b"g"
_NEVER = {
    b"1": "a link",
    b"2": "a link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}
_SPARSE = b"GNU.sparse."
_IN_PAX = (b"path", b"size", b"linkpath")


@dataclass(slots=True)
class _Before:
    """What the headers before an entry say of it."""

    name: bytes | None = None
    size: bytes | None = None
    said: bool = False


class TarArchive:
    """The files of a tar. Raises ArchiveRefused when it is made, before anything is unpacked."""

    def __init__(self, file: IO[bytes], found: ArchiveEntries) -> None:
        self._file = file
        self._found = found
        self._places: dict[str, tuple[int, int]] = {}
        self._size = file.seek(0, 2)
        file.seek(0)
        self._read_headers()
        self.entries: tuple[TreeEntry, ...] = found.in_order()

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises ArchiveRefused where they end early."""
        at, end = self._places[path]
        while at < end:
            self._file.seek(at)
            piece = self._file.read(min(_PIECE, end - at))
            if not piece:
                raise self._found.refused("is cut off", path)
            at += len(piece)
            yield piece

    def _read_headers(self) -> None:
        before = _Before()
        while True:
            header = self._file.read(BLOCK)
            if header == _ZEROS and not before.said:
                break
            if len(header) < BLOCK or header == _ZEROS:
                raise self._found.refused("it is cut off: it has no end")
            size = self._checked_size(header)
            kind = header[156:157]
            if kind in (_LONG_NAME, _LONG_TARGET, _PAX, _GLOBAL_PAX):
                self._read_about(kind, self._content(header, size), before)
            else:
                self._entry(header, kind, size, before)
                before = _Before()
        self._check_behind()

    def _entry(self, header: bytes, kind: bytes, size: int, before: _Before) -> None:
        raw = _name(header) if before.name is None else before.name
        if before.size is not None and before.size != str(size).encode():
            raise self._found.refused("has two sizes", shown_name(raw))
        if kind not in _FILES and kind != _DIRECTORY:
            raise self._found.never(_NEVER.get(kind, f"of an unknown kind ({shown_name(kind)!r})"), raw)
        if b"\0" in raw:
            raise self._found.refused("has a NUL character in its name", shown_name(raw))
        is_directory = kind == _DIRECTORY or raw.endswith(b"/")
        if is_directory and size:
            raise self._found.refused("is a directory with content", shown_name(raw))
        at = self._file.tell()
        if at + size > self._size:
            raise self._found.refused("is cut off", shown_name(raw))
        mode = _number(header[_MODE]) or 0
        path = self._found.add(raw, is_directory=is_directory, size=size, executable=bool(mode & _EXECUTABLE))
        if path is not None:
            self._places[path] = (at, at + size)
        self._file.seek(at + _padded(size))

    def _content(self, header: bytes, size: int) -> bytes:
        """Return the bytes behind a header that is about the next one."""
        if size > _MOST_HEADER:
            raise self._found.refused(f"has a header of more than {_MOST_HEADER:,} bytes", shown_name(_name(header)))
        content = self._file.read(_padded(size))
        if len(content) != _padded(size):
            raise self._found.refused("it is cut off")
        return content[:size]

    def _read_about(self, kind: bytes, content: bytes, before: _Before) -> None:
        if kind == _LONG_NAME:
            self._name_it(content.removesuffix(b"\0"), before)
        elif kind != _LONG_TARGET:
            for key, value in self._pax(content):
                if key.startswith(_SPARSE):
                    raise self._found.never("a sparse file", value)
                if kind == _GLOBAL_PAX and key in _IN_PAX:
                    raise self._found.refused("it says one name or size of all its entries")
                if key == b"path":
                    self._name_it(value, before)
                elif key == b"size" and before.size is not None:
                    raise self._found.refused("it has an entry with two sizes")
                elif key == b"size":
                    before.size = value
        before.said = before.said or kind != _GLOBAL_PAX

    def _name_it(self, name: bytes, before: _Before) -> None:
        if before.name is not None:
            raise self._found.refused("has two names", shown_name(before.name))
        before.name = name

    def _pax(self, content: bytes) -> Iterator[tuple[bytes, bytes]]:
        at = 0
        while at < len(content):
            blank = content.find(b" ", at, at + _MOST_LENGTH_DIGITS + 1)
            digits = content[at:blank] if blank >= 0 else b""
            end = at + int(digits) if digits.isdigit() else 0
            key, equals, value = content[blank + 1 : end - 1].partition(b"=")
            if end <= blank or end > len(content) or content[end - 1 : end] != b"\n" or not equals:
                raise self._found.refused("it has a header that is damaged")
            yield key, value
            at = end

    def _checked_size(self, header: bytes) -> int:
        """Return how many bytes follow a header, once it is known to be one."""
        if not is_tar_header(header):
            raise self._found.refused("it is damaged: the checksum of a header is another")
        if not header.startswith(_POSIX, _MAGIC_AT) and header[_PREFIX].strip(b"\0"):
            # Some readers take it for the beginning of the name all the same.
            raise self._found.refused("has something in the place of a name's beginning", shown_name(_name(header)))
        size = _number(header[_SIZE])
        if size is None or any(_number(header[number]) is None for number in _NUMBERS):
            raise self._found.refused("has a size, mode or time that is no number", shown_name(_name(header)))
        return size

    def _check_behind(self) -> None:
        """Nothing but zeros may lie behind the end: some readers go on there."""
        while piece := self._file.read(_PIECE):
            if piece.strip(b"\0"):
                raise self._found.refused("it has bytes behind its end")


def is_tar_header(block: bytes) -> bool:
    """Whether a block is the header of an entry, by its checksum."""
    if len(block) < BLOCK:
        return False
    said = _number(block[148:156])
    return said is not None and said == sum(block[:148]) + 8 * ord(" ") + sum(block[156:BLOCK])


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[_PREFIX].partition(b"\0")[0] if header.startswith(_POSIX, _MAGIC_AT) else b""
    return prefix + b"/" + name if prefix else name


def _number(digits: bytes) -> int | None:
    if digits[0] == _BINARY:
        return int.from_bytes(digits[1:], "big")
    found = _OCTAL.fullmatch(digits)
    return int(found[1] or b"0", 8) if found else None


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
