"""What is in a skill's files? Reads and listings that stay inside one skill's directory and inside a budget.

A path is judged (`paths`) before the file system is asked, then opened name by name from the skill's own directory
(`opening`), so that nothing renamed or relinked meanwhile can lead out (DECISIONS 9 and 24). Knows nothing of what
the files mean.
"""

from __future__ import annotations

from skillhub_mcp.skills.files.confinement import Opener, open_by_descriptors, open_by_resolved_path
from skillhub_mcp.skills.files.content import FileContent, ReadLimits, media_type, read_file, read_start, read_whole
from skillhub_mcp.skills.files.listing import FileEntry, list_files
from skillhub_mcp.skills.files.paths import MAX_DEPTH

__all__ = [
    "MAX_DEPTH",
    "FileContent",
    "FileEntry",
    "Opener",
    "ReadLimits",
    "list_files",
    "media_type",
    "open_by_descriptors",
    "open_by_resolved_path",
    "read_file",
    "read_start",
    "read_whole",
]
