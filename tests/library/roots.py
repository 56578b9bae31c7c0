"""Roots with skills and a lock file, for tests of changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skillhub_mcp.library.change import Change, changing
from skillhub_mcp.locks.file_digests import digest_of, digests_of
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, parse_lock
from skillhub_mcp.locks.lock_file import lock_text as written_lock

LOCK = "skills-lock.json"
BEFORE = {"kept": "one", "replaced": "one", "gone": "one"}
AFTER = {"replaced": "two", "new": "two"}


def write_skill(directory: Path, text: str, *, files: Mapping[str, str] | None = None) -> None:
    """A skill with one script."""
    (directory / "scripts").mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(
        f"---\nname: {directory.name}\ndescription: {text}\n---\n{text}\n", encoding="utf-8"
    )
    script = directory / "scripts" / "run.sh"
    script.write_text(f"echo {text}\n", encoding="utf-8")
    script.chmod(0o755)
    for path, content in (files or {}).items():
        (directory / path).write_text(content, encoding="utf-8")


def lock_text(skills: Mapping[str, str]) -> str:
    """A lock that names each skill with its digest."""
    return written_lock(Lock(LOCK).having(*map(_entry, skills, skills.values())))


def _entry(name: str, digest: str) -> LockedSkill:
    return LockedSkill(name, "owner/repository", "github", ours=LockedByHub(digest, executable=("scripts/run.sh",)))


def lock_entries(root: Path) -> dict[str, Any]:
    """The entries of the root's lock file by skill."""
    found: dict[str, Any] = json.loads((root / LOCK).read_text(encoding="utf-8"))["skills"]
    return found


def locked(root: Path) -> dict[str, str]:
    """The skills that the root's lock names, with their digests."""
    lock = parse_lock((root / LOCK).read_text(encoding="utf-8"), LOCK)
    return {one.name: one.ours.digest for one in lock.skills if one.ours is not None}


def install(change: Change, texts: Mapping[str, str], *, removals: Sequence[str] = ()) -> None:
    """Add, replace and remove skills, and write the new text of the lock."""
    root = Path(change.root)
    digests = {}
    for name, text in texts.items():
        place = Path(change.staged(name))
        write_skill(place, text)
        digests[name] = digest_at(place)
    before = locked(root) if (root / LOCK).exists() else {}
    after = {name: digest for name, digest in {**before, **digests}.items() if name not in removals}
    change.commit(texts, removals, lock_path=os.fspath(root / LOCK), lock_text=lock_text(after))


def changed(root: Path) -> None:
    """The change that tests interrupt: add one skill, replace one, remove one."""
    with changing(os.fspath(root)) as change:
        install(change, AFTER, removals=["gone"])


def prepared(directory: Path) -> Path:
    """A root with three installed skills."""
    root = directory / "root"
    with changing(os.fspath(root)) as change:
        install(change, BEFORE)
    return root


def digest_at(directory: Path) -> str:
    """The digest of the files in a directory."""
    return digest_of(digests_of(os.fspath(directory)))


def skills_in(root: Path) -> dict[str, str]:
    """The skills of a root: their digest by name."""
    return {one.name: digest_at(one) for one in sorted(root.iterdir()) if one.is_dir() and one.name[0] != "."}


def state_of(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The skills of a root and their lock entries."""
    return skills_in(root), locked(root)


def left_behind(root: Path) -> list[str]:
    """The names that a change left staged."""
    return [one.name for one in (root / ".skillhub" / "staging").iterdir()]
