"""The names of skills, for the completion script of a shell.

Tab waits for this, so it imports neither the commands nor the hub, and reads only the beginning of each SKILL.md.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from skillhub_mcp.chosen_roots import roots_of
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.sanitize import in_line
from skillhub_mcp.settings import settings_of
from skillhub_mcp.skills.discovery import walk_roots
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.names import safe_alias

# What a shell's script calls; help does not list it.
COMMAND = "__complete"
_BEGINNING = 4_096
_NAME = re.compile(rb"""^name:[ \t]*(["']?)(\S.*?)\1[ \t\r]*$""", re.MULTILINE)


def run(argv: Sequence[str]) -> int:  # noqa: ARG001 - the signature of the other entry point
    """Print the names, one a line."""
    try:
        found = walk_roots(roots_of(settings_of({}))).found
    except SkillHubError:
        # Completion offers nothing; the command itself says what is wrong.
        return 1
    names = {_name_in(os.path.join(one.directory, SKILL_FILE)) or one.name for one in found}
    typable = {name if in_line(name) == name else safe_alias(name) for name in names}
    sys.stdout.buffer.write(b"".join(os.fsencode(name) + b"\n" for name in sorted(typable)))
    return 0


def _name_in(path: str) -> str | None:
    """Return the name that a SKILL.md gives itself, if its beginning has one."""
    try:
        # Reading a pipe of that name would block completion.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            found = _NAME.search(file.read(_BEGINNING) or b"")
    except OSError:
        return None
    return None if found is None else os.fsdecode(found[2])
