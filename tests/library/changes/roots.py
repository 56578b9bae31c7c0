"""Roots with skills and a lock of skills, for tests of changes: what is there, and what is in `.skillhub`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillhub_mcp.library.changes.fingerprint import see
from skillhub_mcp.library.changes.transaction import Change
from skillhub_mcp.locks.lock_file import Lock, LockedByHub, LockedSkill, parse_lock
from skillhub_mcp.locks.lock_file import lock_text as written_lock

LOCK = "skills-lock.json"


def write_skill(directory: Path, text: str, *, files: Mapping[str, str] | None = None) -> None:
    """A skill of one script beside its SKILL.md."""
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
    return LockedSkill(name, "owner/repository", "github", ours=LockedByHub(digest))


def locked(root: Path) -> dict[str, str]:
    """The skills that the root's lock names, with their digests."""
    lock = parse_lock((root / LOCK).read_text(encoding="utf-8"), LOCK)
    return {one.name: one.ours.digest for one in lock.skills if one.ours is not None}


def install(change: Change, texts: Mapping[str, str], *, removals: Sequence[str] = ()) -> None:
    """Put skills in, replace those there, and remove others, with the lock's and the receipts' new texts."""
    root = Path(change.root)
    digests = {}
    for name, text in texts.items():
        place = Path(change.staged(name))
        write_skill(place, text)
        digests[name] = see(os.fspath(place)).digest
    before = locked(root) if (root / LOCK).exists() else {}
    after = {name: digest for name, digest in {**before, **digests}.items() if name not in removals}
    change.commit(
        digests,
        removals,
        lock_path=os.fspath(root / LOCK),
        lock_text=lock_text(after),
        receipts={name: json.dumps({"digest": digest}) for name, digest in digests.items()},
    )


def skills_in(root: Path) -> dict[str, str]:
    """The skills of a root: their digest by name."""
    return {
        one.name: see(os.fspath(one)).digest for one in sorted(root.iterdir()) if one.is_dir() and one.name[0] != "."
    }


def state_of(root: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """What a change is about: the skills, what the lock says of them, and what the receipts say."""
    receipts = {
        one.stem: json.loads(one.read_text(encoding="utf-8"))["digest"]
        for one in sorted((root / ".skillhub" / "receipts").glob("*.json"))
    }
    return skills_in(root), locked(root), receipts


def left_behind(root: Path) -> list[str]:
    """What of a change is left: anything staged, and a journal."""
    own = root / ".skillhub"
    staged = [one.name for one in (own / "staging").iterdir()]
    return staged + [one.name for one in own.iterdir() if one.name.startswith("journal")]
