"""The archive of a skill: a zip with the same bytes on every machine, in every process and with every library. Pure.

Nothing in it is compressed, since the bytes of that depend on the library; files come in the order of their paths'
bytes, with one date and one of two modes. What is larger than 4 GiB, or more than 65,535 files, has no place here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Of APPNOTE.TXT: the version that can hold directories, Unix as the system of the modes, names in UTF-8, no
# compression, and the first day that a date can be.
_VERSION = 20
_UNIX = 3 << 8
_UTF_8 = 0x0800
_STORED = 0
_TIME, _DATE = 0, (1 << 5) | 1
_REGULAR, _PLAIN, _EXECUTABLE = 0o100000, 0o644, 0o755
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file to archive: its path with `/`, its bytes, and whether it may be executed."""

    path: str
    content: bytes
    executable: bool = False


def archive_pieces(files: Iterable[ArchivedFile]) -> Iterator[bytes]:
    """Yield the bytes of the archive of `files`, which come sorted by the bytes of their paths.

    Raises UnicodeEncodeError for a path that is no text.
    """
    central: list[bytes] = []
    offset = 0
    for file in files:
        name, size = file.path.encode(), len(file.content)
        known = struct.pack(
            "<HHHHHIIIHH", _VERSION, _UTF_8, _STORED, _TIME, _DATE, zlib.crc32(file.content), size, size, len(name), 0
        )
        local = _LOCAL + known + name
        mode = (_REGULAR | (_EXECUTABLE if file.executable else _PLAIN)) << 16
        made_by = struct.pack("<H", _UNIX | _VERSION)
        central.append(_CENTRAL + made_by + known + struct.pack("<HHHII", 0, 0, 0, mode, offset) + name)
        offset += len(local) + size
        yield local
        yield file.content
    directory = b"".join(central)
    yield directory
    yield _END + struct.pack("<HHHHIIH", 0, 0, len(central), len(central), len(directory), offset, 0)
