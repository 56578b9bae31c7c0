"""Reading and listing a skill's files, confined to the skill's directory and to byte budgets.

confinement  opening a file component by component, so that a concurrent rename or relink cannot lead out
content      reading one chunk, or the whole file
listing      the list of readable files
paths        checks of a requested path, before the file system is accessed
"""

from __future__ import annotations

from skillhub_mcp.skills.files.content import (
    FileContent,
    ReadLimits,
    media_type,
    read_file,
    read_start,
    read_start_of,
    read_whole,
    short_digest,
)
from skillhub_mcp.skills.files.listing import FileEntry, list_files

__all__ = [
    "FileContent",
    "FileEntry",
    "ReadLimits",
    "list_files",
    "media_type",
    "read_file",
    "read_start",
    "read_start_of",
    "read_whole",
    "short_digest",
]
