"""How is a mended SKILL.md written? In one step, into the skill itself, and only over what was read."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass

from skillhub_mcp.errors import SkillHubError, SkillUnreadable
from skillhub_mcp.skills.files import read_whole
from skillhub_mcp.skills.model import SKILL_FILE
from skillhub_mcp.skills.scanner import MAX_SKILL_FILE_BYTES
from skillhub_mcp.validation.checker import Target
from skillhub_mcp.validation.fixes import fix


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A SKILL.md as it was read and as it would be, with the rules whose breaches would be gone."""

    path: str
    name: str
    before: bytes
    after: bytes
    rules: tuple[str, ...]


def fix_file(target: Target) -> FixedFile | None:
    """Return what can be mended of the skill at `target`, or None where there is nothing."""
    if target.directory is None:
        return None
    try:
        before = read_whole(target.directory, SKILL_FILE, skill=target.name, max_bytes=MAX_SKILL_FILE_BYTES)
    except SkillHubError:
        return None
    fixed = fix(before, target.name)
    if not fixed.mended:
        return None
    path = os.path.realpath(os.path.join(target.directory, SKILL_FILE))
    return FixedFile(path, target.name, before, fixed.content, fixed.mended)


def write(mended: FixedFile) -> None:
    """Replace the file by what was mended. Raises SkillUnreadable where it has changed since, or cannot be written."""
    new = f"{mended.path}.{os.getpid()}.new"
    try:
        with open(mended.path, "rb") as file:
            if file.read() != mended.before:
                raise SkillUnreadable(mended.name, path=mended.path, reason="it was changed meanwhile")
        with open(new, "wb") as file:
            file.write(mended.after)
        os.chmod(new, stat.S_IMODE(os.stat(mended.path).st_mode))
        os.replace(new, mended.path)
    except OSError as error:
        reason = f"it cannot be written: {error.strerror or error}"
        raise SkillUnreadable(mended.name, path=mended.path, reason=reason) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(new)
