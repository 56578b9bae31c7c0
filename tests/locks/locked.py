"""Skills with a lock, as an installation leaves them."""

from __future__ import annotations

from pathlib import Path

from skillhub_mcp.locks.file_digests import digest_of, digests_of
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, lock_text, read_lock


def lock(skill: Path, *, at: Path | None = None) -> Path:
    """Lock a skill as it is now, in its root or at another path, and return the lock."""
    path = at or skill.parent / "skills-lock.json"
    files = digests_of(str(skill))
    ours = LockedByHub(digest_of(files), executable=tuple(name for name, one in files.items() if one.executable))
    found = read_lock(str(path)) or Lock(str(path))
    path.write_text(lock_text(found.having(LockedSkill(skill.name, "o/r", "github", ours=ours))))
    return path
