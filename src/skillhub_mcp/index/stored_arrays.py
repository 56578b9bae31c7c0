"""Arrays by name in a file beside the table, read so that whatever is in it costs no more than its own size.

Such a file is ours, and may still be damaged, or be that of a database that somebody else wrote.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from skillhub_mcp.atomic_write import atomic_write
from skillhub_mcp.file_modes import private_mode
from skillhub_mcp.index.mapped_arrays import open_derived

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

# What reading a file raises that is no such file, or says of itself what is not so.
_DAMAGED = (LookupError, EOFError, TypeError, RuntimeError, SyntaxError, MemoryError, OverflowError, BadZipFile)


def save_arrays(path: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replace the file at `path` atomically. Raises OSError."""
    import numpy as np

    written = io.BytesIO()
    np.savez(written, allow_pickle=False, **arrays)
    atomic_write(path, written.getvalue(), mode=private_mode(os.path.dirname(path)), follow=False)


def load_arrays(path: str, dimensions: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return the arrays at `path`, of which `dimensions` names each with how many dimensions it has.

    Raises OSError, and ValueError where there are not all of these.
    """
    from tokenize import TokenError

    import numpy as np

    try:
        with open_derived(path) as file:
            _refuse_what_is_larger_inside(file, os.fstat(file.fileno()).st_size)
            with np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in dimensions}
    except (*_DAMAGED, TokenError) as error:
        raise ValueError(f"{os.path.basename(path)} is damaged") from error
    # What has not an array's beginning comes as bytes.
    if any(getattr(arrays[name], "ndim", None) != wanted for name, wanted in dimensions.items()):
        raise ValueError(f"{os.path.basename(path)} is damaged")
    return arrays


def _refuse_what_is_larger_inside(file: BinaryIO, size: int) -> None:
    """Raise BadZipFile for a compressed file: ours are not, and a few kilobytes of zeros can be gigabytes."""
    with ZipFile(file) as archive:
        entries = archive.infolist()
    if any(entry.compress_type != ZIP_STORED for entry in entries) or sum(entry.file_size for entry in entries) > size:
        raise BadZipFile("its arrays are larger than the file")
    file.seek(0)
