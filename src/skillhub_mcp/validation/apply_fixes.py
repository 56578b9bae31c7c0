"""Write a fixed SKILL.md in one step, if the file has not changed since it was read."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass

from skillhub_mcp._util.atomic_write import atomic_write
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, Problem
from skillhub_mcp.validation.fixes import fix
from skillhub_mcp.validation.targets import Target


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A SKILL.md before and after fixing violations of `rules`; `renamed` are its paths if it gets another name."""

    path: str
    name: str
    before: bytes
    after: bytes
    rules: tuple[str, ...]
    renamed: tuple[str, str] | None = None


def fix_file(target: Target, rules: Collection[str] | None = None) -> FixedFile | None:
    """Return the fixes of `rules`, or of all, for the skill at `target`, without writing them."""
    if target.directory is None:
        return None
    file = skill_file_in(target.directory) or SKILL_FILE
    try:
        before = read_whole(target.directory, file, skill=target.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError:
        return None
    fixed = fix(before, target.name, rules)
    named = os.path.join(target.directory, file)
    renamed = None
    if file != SKILL_FILE and (rules is None or "file-name" in rules):
        renamed = (named, os.path.join(target.directory, SKILL_FILE))
    if not fixed.rules and renamed is None:
        return None
    of_name = () if renamed is None else ("file-name",)
    return FixedFile(os.path.realpath(named), target.name, before, fixed.content, (*of_name, *fixed.rules), renamed)


def write(fixed: FixedFile) -> Problem | None:
    """Replace the file by its fixed content, with the same permissions; return why not, if it is unchanged."""
    try:
        with open(fixed.path, "rb") as file:
            if file.read() != fixed.before:
                return Problem(fixed.path, "has changed since it was read", "run the command again")
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if fixed.after != fixed.before:
            atomic_write(fixed.path, fixed.after, mode=mode)
        if fixed.renamed is not None:
            os.rename(*fixed.renamed)
    except OSError as error:
        fix = "make its directory writable, with room on its disk, then run the command again"
        return Problem(fixed.path, f"cannot be written: {error.strerror or error}", fix)
    return None
