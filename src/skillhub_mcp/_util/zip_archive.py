"""ZIP archives that are the same bytes whenever, wherever and by whomever they are made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_REGULAR = 0o100000
# Named, so that no default of a later Python changes the bytes.
_LEVEL = 9


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file of an archive."""

    content: bytes
    executable: bool = False


def archive(files: Mapping[str, ArchivedFile], *, compressed: bool = True) -> bytes:
    """Return a ZIP archive of files by their names in it, which have `/` between directories."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as target:
        for name, file in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (_REGULAR | (0o755 if file.executable else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            target.writestr(entry, file.content, compresslevel=_LEVEL)
    return written.getvalue()
