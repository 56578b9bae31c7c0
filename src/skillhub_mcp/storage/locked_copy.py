"""Whether what is copied of a locked skill is what its lock says, where such are withheld that are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from skillhub_mcp.errors import LockUnreadable, SkillChanged
from skillhub_mcp.locks.content_digest import FileDigest
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.storage.contents import FileToStore

_HAS_MODES = os.name != "nt"


class CopiedSkill:
    """The files of one skill as they are copied, held against its lock, if one decides about it.

    The files were looked at before, and may be written meanwhile: the bytes decide that were read. `locked` returns
    what each file has to be, as `Policy.locked_files`.
    """

    def __init__(self, skill: Skill, locked: Callable[[Skill], Mapping[str, FileDigest] | None]) -> None:
        self._skill = skill
        self._ask = locked
        self._differs = False
        self._locked = self._asked()

    def takes(self, file: FileToStore, digest: str) -> bool:
        """Whether a file with this SHA-256 is what the lock says, as were those before."""
        if self._locked is None or self._differs:
            return not self._differs
        locked = self._locked.get(file.path)
        if locked is None:
            # Locks do not have links, which are followed within the skill only.
            is_link = os.path.islink(os.path.join(self._skill.directory, file.path))
            self._differs = not is_link or digest not in {one.sha256 for one in self._locked.values()}
        else:
            is_turned = _HAS_MODES and locked.executable != file.executable
            self._differs = is_turned or locked.sha256 != digest
        return not self._differs

    def is_as_locked(self) -> bool:
        """Whether all that was copied is as it was locked, and nothing was added or taken away meanwhile."""
        return not self._differs and self._asked() == self._locked and not self._differs

    def _asked(self) -> Mapping[str, FileDigest] | None:
        try:
            return self._ask(self._skill)
        except (SkillChanged, LockUnreadable):
            self._differs = True
            return None
