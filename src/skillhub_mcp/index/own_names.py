"""What is an index's own in the directory of its database: nobody's directory is taken for one."""

from __future__ import annotations

import contextlib
import os
import re

from skillhub_mcp.index.index_files import FIRST_TABLE

_TABLE_ENDING = ".lance"
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
