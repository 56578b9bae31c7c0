"""The skills that come with SkillHub, to start from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import SnapshotReader

# What running an example's scripts leaves behind.
_LEFT_BEHIND = "__pycache__"


def examples() -> Sequence[Skill]:
    """Return the skills that come with SkillHub, by name."""
    return SnapshotReader(make_roots([builtin_directory()])).snapshot.skills


def files_of(example: Skill) -> Mapping[str, bytes]:
    """Return the files of an example, by path relative to its directory, with `/` on every system."""
    base = Path(example.directory)
    paths = (
        Path(place, name)
        for place, directories, names in os.walk(base)
        if _LEFT_BEHIND not in Path(place).parts
        for name in names
    )
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in sorted(paths)}
