"""What is an index's own in the directory of its database, and what of it others may read.

The directory may have been there before, for something else. Nobody's directory is taken for a database, and the mode
of one that a person made is theirs: what is written into it is private by itself.
"""

from __future__ import annotations

import contextlib
import os
import re

from skillhub_mcp.file_modes import is_open_to_others, make_private
from skillhub_mcp.index.index_files import FIRST_TABLE

_TABLE_ENDING = ".lance"
_OWN_TABLE = re.compile(rf"{FIRST_TABLE}(?:_[0-9a-f]+)?{re.escape(_TABLE_ENDING)}")
_BESIDE_TABLE = re.compile(r"(?:checksums|postings|rows|statistics)-.+\.(?:arrays|json|npz)(?:\.[-\d]+)?(?:\.new)?")
# In a directory that is empty for whoever made it.
_IN_EMPTY = frozenset({".DS_Store", ".gitignore", ".gitkeep", "lost+found"})


def something_else(database: str) -> str | None:
    """Return the name of something in a directory that is no database: LanceDB has no table there, whoever's.

    None where an index may be written: it is a database, or not there, or has nothing but what an index that was never
    finished left. What cannot be read is left to the writer, who says what is wrong.
    """
    if os.path.lexists(os.path.join(database, FIRST_TABLE + _TABLE_ENDING)):
        # A database may lie in a directory that is slow to list.
        return None
    found = None
    with contextlib.suppress(OSError), os.scandir(database) as entries:
        for entry in entries:
            if entry.name.endswith(_TABLE_ENDING):
                return None
            if not (entry.name in _IN_EMPTY or _BESIDE_TABLE.fullmatch(entry.name)):
                found = min(entry.name, found or entry.name)
    return found


def make_database_private(database: str) -> None:
    """Take from others what they may do with an index: earlier versions left it to the umask, and LanceDB does.

    The directory is closed too where it has nothing but the index, and its tables are as an earlier version left them.
    """
    try:
        names = os.listdir(database)
    except OSError:
        return
    own = [name for name in names if _OWN_TABLE.fullmatch(name) or _BESIDE_TABLE.fullmatch(name)]
    paths = [os.path.join(database, name) for name in own]
    was_left = any(path.endswith(_TABLE_ENDING) and is_open_to_others(path) for path in paths)
    make_private([database, *paths] if was_left and len(own) == len(names) else paths)
