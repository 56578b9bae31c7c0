"""Reading a zip in the one way that every reader reads it: what could be read in two ways is refused.

Each entry is described twice, before its bytes and in the directory at the end, and readers believe one or the other.
Here both have to say the same, and the entries have to follow each other from the first byte to the directory, with
nothing before, between, behind or over them.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, NoReturn

from skillhub_mcp.library.archives.archive_entries import ArchiveEntries, shown_name
from skillhub_mcp.library.tree import TreeEntry

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
# What of it its own size does not count.
_END_64_BEFORE = 12
_LOCATOR_64_SIGN = b"PK\x06\x07"
_SIZE_64 = struct.Struct("<Q")
_MOST_COMMENT = 0xFFFF
_SEE_64, _SEE_64_SHORT = 0xFFFFFFFF, 0xFFFF

# 6.3, of 2006.
_NEWEST_FORMAT = 63
_STORED, _DEFLATED, _AES = 0, 8, 99
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_SIZES_FOLLOW = 1 << 3
_PATCH = 1 << 5
# How hard the packer tried, which nobody reads.
_EFFORT = 1 << 1 | 1 << 2
_DOS_DIRECTORY = 0x10
_EXECUTABLE = 0o111
_EXTRA_64, _EXTRA_UNICODE_NAME = 0x0001, 0x7075
# Of that name: its version, and the checksum of the other one.
_BEFORE_NAME = 5
_DESCRIPTORS = {12: "<3L", 16: "<4x3L", 20: "<L2Q", 24: "<4xL2Q"}
_DESCRIPTOR_SIGN = b"PK\x07\x08"
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Described:
    """What the directory says of an entry; `at` is where it begins in the archive."""

    raw: bytes
    flags: int
    method: int
    crc: int
    packed: int
    unpacked: int
    mode: int
    dos_attributes: int
    at: int

    @property
    def is_directory(self) -> bool:
        return self.raw.endswith(b"/")


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where the bytes of a file are."""

    method: int
    crc: int
    packed: int
    unpacked: int
    at: int


class ZipArchive:
    """The files of a zip. Raises ArchiveRefused when it is made, before anything is unpacked."""

    def __init__(self, file: IO[bytes], found: ArchiveEntries) -> None:
        self._file = file
        self._found = found
        self._places: dict[str, _Placed] = {}
        begin, described = self._directory()
        self._check_entries(described, begin)
        self.entries: tuple[TreeEntry, ...] = found.in_order()

    def read(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces. Raises ArchiveRefused where they are not what the entry says."""
        place = self._places[path]
        unpack = zlib.decompressobj(-zlib.MAX_WBITS) if place.method == _DEFLATED else None
        crc, size, at = 0, 0, 0
        while at < place.packed:
            self._file.seek(place.at + at)
            packed = self._file.read(min(_PIECE, place.packed - at))
            if not packed:
                raise self._found.refused("is cut off", path)
            at += len(packed)
            for piece in self._inflated(unpack, packed, path) if unpack else (packed,):
                size += len(piece)
                crc = zlib.crc32(piece, crc)
                if size > place.unpacked:
                    raise self._found.refused(f"has more than the {place.unpacked:,} bytes that it says", path)
                yield piece
        if unpack is not None and not unpack.eof:
            raise self._found.refused("is cut off", path)
        if size != place.unpacked:
            raise self._found.refused(f"has {size:,} bytes and says {place.unpacked:,}", path)
        if crc != place.crc:
            raise self._found.refused("is damaged: its checksum is another", path)

    def _inflated(self, unpack: zlib._Decompress, packed: bytes, path: str) -> Iterator[bytes]:
        try:
            while not unpack.eof:
                piece = unpack.decompress(packed, _PIECE)
                packed = unpack.unconsumed_tail
                if piece:
                    yield piece
                elif not packed:
                    break
        except zlib.error:
            raise self._found.refused("is damaged: it cannot be unpacked", path) from None
        if unpack.unused_data or packed:
            raise self._found.refused("has bytes behind its end", path)

    def _directory(self) -> tuple[int, list[_Described]]:
        """Return where the directory begins, and what it says of each entry."""
        size = self._file.seek(0, 2)
        tail_at = max(0, size - _LOCATOR_64.size - _END.size - _MOST_COMMENT)
        self._file.seek(tail_at)
        tail = self._file.read(size - tail_at)
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or len(tail) - found < _END.size:
            self._refuse("it is cut off, or is no zip: it has no end")
        _, disk, first_disk, here, count, length, begin, comment = _END.unpack_from(tail, found)
        if len(tail) - found - _END.size != comment:
            self._refuse("it has bytes behind its end")
        end = tail_at + found
        said = (disk, first_disk, here, count, length, begin)
        if found >= _LOCATOR_64.size and tail.startswith(_LOCATOR_64_SIGN, found - _LOCATOR_64.size):
            end, disk, first_disk, here, count, length, begin = self._end_64(end, said)
        if disk or first_disk or here != count:
            self._refuse("it is one of several parts")
        if begin + length > end:
            self._refuse("it is cut off")
        if begin + length < end:
            self._refuse("it has bytes before its beginning, or between its directory and its end")
        if count > self._found.bounds.source_entries:
            self._refuse(f"it has {count:,} entries, and at most {self._found.bounds.source_entries:,} are read")
        self._file.seek(begin)
        described = [self._described(end) for _ in range(count)]
        if self._file.tell() != end:
            self._refuse("its directory has more entries than it says")
        return begin, described

    def _end_64(self, end: int, said: tuple[int, ...]) -> tuple[int, int, int, int, int, int, int]:
        """Return where the end of 64 bits begins, and what it says; `said` is what the one of 32 bits, at `end`, says.

        Some readers believe that one, unless it says to look here.
        """
        at = end - _LOCATOR_64.size
        self._file.seek(at)
        _, disk, where, disks = _LOCATOR_64.unpack(self._exactly(_LOCATOR_64.size))
        if disk or disks > 1 or where != at - _END_64.size:
            self._refuse("its end is damaged")
        self._file.seek(where)
        sign, size, _, _, *says = _END_64.unpack(self._exactly(_END_64.size))
        looked = [there if here in (_SEE_64, _SEE_64_SHORT) else here for here, there in zip(said, says, strict=True)]
        if sign != b"PK\x06\x06" or size != _END_64.size - _END_64_BEFORE or looked != says:
            self._refuse("its end is damaged, or says two things")
        disk, first_disk, entries_here, count, length, begin = says
        return where, disk, first_disk, entries_here, count, length, begin

    def _described(self, end: int) -> _Described:
        """Read the next entry of the directory, which ends at `end`."""
        header = self._exactly(_CENTRAL.size)
        (sign, _, needed, flags, method, _, _, crc, packed, unpacked, name, extra, comment, disk, _, attributes, at) = (
            _CENTRAL.unpack(header)
        )
        if sign != b"PK\x01\x02":
            self._refuse("its directory is damaged")
        raw = self._exactly(name)
        extras = self._extras(raw, self._exactly(extra))
        self._exactly(comment)
        if self._file.tell() > end:
            self._refuse("its directory is damaged")
        if needed & 0xFF > _NEWEST_FORMAT:
            self._refuse_entry("needs a newer version of the format than any that is known", raw)
        unpacked, packed, at = self._sizes_64(raw, extras, [unpacked, packed, at])
        if disk:
            self._refuse("it is one of several parts")
        return _Described(raw, flags, method, crc, packed, unpacked, attributes >> 16, attributes & 0xFFFF, at)

    def _extras(self, raw: bytes, field: bytes) -> dict[int, bytes]:
        extras: dict[int, bytes] = {}
        at = 0
        while at + 4 <= len(field):
            kind, length = struct.unpack_from("<2H", field, at)
            value = field[at + 4 : at + 4 + length]
            if len(value) != length:
                self._refuse_entry("has a field that is cut off", raw)
            if kind in (_EXTRA_64, _EXTRA_UNICODE_NAME) and kind in extras:
                self._refuse_entry("says twice what it may say once", raw)
            extras[kind] = value
            at += 4 + length
        other_name = extras.get(_EXTRA_UNICODE_NAME)
        if other_name is not None and other_name[_BEFORE_NAME:] != raw:
            self._refuse_entry("has two names", raw)
        return extras

    def _sizes_64(self, raw: bytes, extras: dict[int, bytes], sizes: list[int]) -> list[int]:
        """Return sizes, those of 64 bits where a size of 32 bits says to look there."""
        longer = extras.get(_EXTRA_64, b"")
        for number, size in enumerate(sizes):
            if size == _SEE_64:
                if len(longer) < _SIZE_64.size:
                    self._refuse_entry("has a size that is cut off", raw)
                (sizes[number],), longer = _SIZE_64.unpack_from(longer), longer[_SIZE_64.size :]
        return sizes

    def _check_entries(self, described: list[_Described], end: int) -> None:
        """Look at each entry where it lies, in the order of the archive, and admit it."""
        described.sort(key=lambda entry: entry.at)
        places = [*(entry.at for entry in described), end]
        if places[0]:
            self._refuse(f"it has {places[0]:,} bytes before its first entry")
        for entry, following in zip(described, places[1:], strict=True):
            self._check_kind(entry)
            self._admit(entry, self._place(entry, following))

    def _place(self, entry: _Described, following: int) -> int:
        """Compare what stands before an entry's bytes, and return where the bytes begin."""
        self._file.seek(entry.at)
        header = self._file.read(_LOCAL.size)
        if len(header) != _LOCAL.size or header[:4] != b"PK\x03\x04":
            self._refuse_entry("is not where the directory says", entry.raw)
        _, _, flags, method, _, _, crc, packed, unpacked, name, extra = _LOCAL.unpack(header)
        raw = self._exactly(name)
        extras = self._extras(raw, self._exactly(extra))
        if raw != entry.raw:
            self._refuse_entry(f"is {shown_name(raw)!r} by its own header", entry.raw)
        unpacked, packed = self._sizes_64(raw, extras, [unpacked, packed])
        said, promised = (crc, packed, unpacked), (entry.crc, entry.packed, entry.unpacked)
        follows = bool(flags & _SIZES_FOLLOW)
        same = said == promised or (follows and all(a in (0, b) for a, b in zip(said, promised, strict=True)))
        if (flags ^ entry.flags) & ~_EFFORT or method != entry.method or not same:
            self._refuse_entry("is described in two ways: by its own header and by the directory", entry.raw)
        place: int = entry.at + _LOCAL.size + name + extra
        behind = following - place - entry.packed
        if behind < 0:
            self._refuse_entry("lies over what follows it", entry.raw)
        if follows and (behind or said != promised):
            self._file.seek(place + entry.packed)
            self._check_descriptor(entry, self._exactly(behind) if behind in _DESCRIPTORS else b"")
        elif behind:
            self._refuse_entry(f"has {behind:,} bytes behind it that belong to no entry", entry.raw)
        return place

    def _check_descriptor(self, entry: _Described, field: bytes) -> None:
        form = _DESCRIPTORS.get(len(field))
        has_sign = len(field) in (16, 24)
        if (
            form is None
            or (has_sign and not field.startswith(_DESCRIPTOR_SIGN))
            or struct.unpack(form, field) != (entry.crc, entry.packed, entry.unpacked)
        ):
            self._refuse_entry("is described in two ways: behind its bytes and by the directory", entry.raw)

    def _check_kind(self, entry: _Described) -> None:
        if entry.flags & _ENCRYPTED or entry.method == _AES:
            self._refuse_entry("is encrypted, and nobody is asked for a password", entry.raw)
        if entry.method not in (_STORED, _DEFLATED) or entry.flags & _PATCH:
            self._refuse_entry(f"is packed by a method that is not read here (number {entry.method})", entry.raw)
        if entry.method == _STORED and entry.packed != entry.unpacked:
            self._refuse_entry(f"has {entry.packed:,} bytes and says {entry.unpacked:,}", entry.raw)
        kind = stat.S_IFMT(entry.mode)
        if kind == stat.S_IFLNK:
            raise self._found.never("a link", entry.raw)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise self._found.never("a device, a pipe or a socket", entry.raw)
        says_directory = {entry.is_directory}
        if kind:
            says_directory.add(kind == stat.S_IFDIR)
        if entry.dos_attributes & _DOS_DIRECTORY:
            says_directory.add(True)
        if len(says_directory) > 1:
            self._refuse_entry("is a directory by its name or its mode, and a file by the other", entry.raw)
        if entry.is_directory and entry.unpacked:
            self._refuse_entry("is a directory with content", entry.raw)
        self._found.check_ratio(entry.unpacked, entry.packed, shown_name(entry.raw))

    def _admit(self, entry: _Described, place: int) -> None:
        path = self._found.add(
            entry.raw,
            is_directory=entry.is_directory,
            size=entry.unpacked,
            executable=bool(entry.mode & _EXECUTABLE),
        )
        if path is not None:
            self._places[path] = _Placed(entry.method, entry.crc, entry.packed, entry.unpacked, place)

    def _exactly(self, size: int) -> bytes:
        read = self._file.read(size)
        if len(read) != size:
            self._refuse("it is cut off")
        return read

    def _refuse(self, reason: str) -> NoReturn:
        raise self._found.refused(reason)

    def _refuse_entry(self, reason: str, raw: bytes) -> NoReturn:
        raise self._found.refused(reason, shown_name(raw))
