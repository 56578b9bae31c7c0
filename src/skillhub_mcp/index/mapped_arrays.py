"""Arrays in a file that may be larger than memory: small ones are read, large ones are mapped.

The file is a header of fixed size, which says where each array lies, and the arrays. Such a file is ours, is written
once and never changed, and may still be damaged, or be that of a database that somebody else wrote: its header and
whatever is small have checksums, and what is large must be looked at by whoever uses it.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_MAGIC = b"skillhub arrays 1\n"
_HEADER_BYTES = 4_096
_PREFIX = struct.Struct("<II")
_ALIGNED = 64
# A file of up to this many bytes is read, and an array of up to this many compared with its checksum.
READ_BYTES = 8 << 20
# What reading a file raises that is no such file, or says of itself what is not so.
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, struct.error, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """What a file holds: its `meta`, as it was written, and arrays that cannot be written to."""

    meta: Mapping[str, object]
    arrays: Mapping[str, NDArray[Any]]
    _content: bytes | mmap.mmap
    _checksums: Mapping[str, int]
    _name: str
    # Of the file when it was opened.
    _stamp: tuple[int, ...] | None = None

    def is_content_of(self, path: str) -> bool:
        """Whether the file at `path` is the one that this was read from, as it was then."""
        try:
            return self._stamp is not None and _stamp(os.stat(path)) == self._stamp
        except OSError:
            return False

    def verify(self) -> None:
        """Read every array, and raise ValueError if one is not what was written: of the large ones nobody knows."""
        for name, values in self.arrays.items():
            if _checksum(values) != self._checksums[name]:
                raise ValueError(f"{self._name} is damaged")
        self.release()

    def release(self) -> None:
        """Give back the memory of what was mapped and read; what is read again comes from the file again."""
        if isinstance(self._content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._content.madvise(mmap.MADV_DONTNEED)


class ArrayWriter:
    """Writes arrays into `file`, several at once, each piece by piece.

    `most` names each array's type and the largest number of its elements, for which room is left.
    """

    def __init__(self, file: BinaryIO, most: Mapping[str, tuple[str, int]]) -> None:
        import numpy as np

        self._file = file
        self._types = {name: np.dtype(kind) for name, (kind, _) in most.items()}
        self._offsets: dict[str, int] = {}
        self._written = dict.fromkeys(most, 0)
        self._checksums = dict.fromkeys(most, 0)
        at = _HEADER_BYTES
        for name, (_, elements) in most.items():
            self._offsets[name] = at
            at += -(-elements * self._types[name].itemsize // _ALIGNED) * _ALIGNED

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Write the next elements of an array. Raises OSError."""
        import numpy as np

        content = np.ascontiguousarray(values, dtype=self._types[name]).reshape(-1).view(np.uint8).data
        self._file.seek(self._offsets[name] + self._written[name])
        self._file.write(content)
        self._written[name] += len(content)
        self._checksums[name] = zlib.crc32(content, self._checksums[name])

    def finish(self, meta: Mapping[str, object]) -> None:
        """Write the header: until then the file is none. Raises OSError."""
        arrays: dict[str, list[object]] = {}
        size = _HEADER_BYTES
        for name, kind in self._types.items():
            # Room that was left for an empty one may lie behind the end of the file.
            written, offset = self._written[name], self._offsets[name] if self._written[name] else _HEADER_BYTES
            arrays[name] = [kind.str, offset, written // kind.itemsize, self._checksums[name]]
            size = max(size, offset + written)
        header = json.dumps({"meta": meta, "size": size, "arrays": arrays}, separators=(",", ":")).encode()
        if len(_MAGIC) + _PREFIX.size + len(header) > _HEADER_BYTES:
            raise ValueError("the header is too long")
        self._file.seek(0)
        self._file.write(_MAGIC + _PREFIX.pack(len(header), zlib.crc32(header)) + header)


def open_derived(path: str) -> BinaryIO:
    """Open a file beside the table to read it. Raises OSError, and ValueError for a pipe, which is not waited for.

    It may be a link: who replaces it replaces the link, and nothing that it leads to.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{os.path.basename(path)} is no file")
    return open(descriptor, "rb")


def open_arrays(path: str, kinds: Mapping[str, str]) -> StoredArrays:
    """Return the arrays of a file, each with one dimension; `kinds` has their names and types.

    What is mapped stays readable when the file is removed or replaced. Raises OSError, and ValueError where the file
    has not exactly these arrays, or is not as it was written.
    """
    with open_derived(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size < _HEADER_BYTES:
            raise ValueError(f"{os.path.basename(path)} is damaged")
        content = file.read() if status.st_size <= READ_BYTES else mapped(file)
    return replace(read_arrays(content, kinds, name=os.path.basename(path)), _stamp=_stamp(status))


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read_meta(path: str) -> Mapping[str, object]:
    """Return the meta of a file without reading its arrays. Raises OSError or ValueError."""
    with open_derived(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(_HEADER_BYTES)
    try:
        return _header(content, size)[0]
    except _DAMAGED as error:
        raise ValueError(f"{os.path.basename(path)} is damaged") from error


def mapped(file: BinaryIO) -> mmap.mmap:
    """Return the content of an open file, which may be closed or removed but must not change. Raises OSError."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def read_arrays(content: bytes | mmap.mmap, kinds: Mapping[str, str], *, name: str) -> StoredArrays:
    """Return the arrays in the content of a file of that `name`, as `open_arrays` does. Raises ValueError."""
    try:
        meta, described = _header(content, len(content))
        arrays = {array: _array(content, described[array], kind) for array, kind in kinds.items()}
        checksums = {array: int(described[array][3]) for array in kinds}
    except _DAMAGED as error:
        raise ValueError(f"{name} is damaged") from error
    return StoredArrays(meta, arrays, content, checksums, name)


def _array(content: bytes | mmap.mmap, described: Sequence[Any], kind: str) -> NDArray[Any]:
    import numpy as np

    written, offset, elements, checksum = described
    wanted = np.dtype(kind)
    if written != wanted.str or min(offset, elements) < 0:
        raise ValueError(described)
    found: NDArray[Any] = np.frombuffer(content, dtype=wanted, count=elements, offset=offset)
    if found.nbytes <= READ_BYTES and _checksum(found) != checksum:
        raise ValueError(described)
    return found


def _checksum(values: NDArray[Any]) -> int:
    return zlib.crc32(values.view("|u1").data)


def _header(content: bytes | mmap.mmap, size: int) -> tuple[Mapping[str, object], Mapping[str, Any]]:
    """Return the meta, and the arrays as they are described, of a file of that size that begins with `content`."""
    begin = len(_MAGIC) + _PREFIX.size
    length, checksum = _PREFIX.unpack(content[len(_MAGIC) : begin])
    header = content[begin : begin + length]
    if content[: len(_MAGIC)] != _MAGIC or begin + length > _HEADER_BYTES or zlib.crc32(header) != checksum:
        raise ValueError(header)
    written = json.loads(header)
    if written["size"] != size:
        raise ValueError(size)
    return dict(written["meta"]), dict(written["arrays"])
