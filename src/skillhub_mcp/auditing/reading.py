"""Reading what the audit looks at: a skill's entries and texts, confined to the skill, within bounds.

Nothing is executed, no link is followed out of the skill, and no more than `MAX_ENTRIES` entries are listed,
`MAX_FILES` read, and `MAX_BYTES` taken from all of them together.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from skillhub_mcp.auditing.entries import EntryKind, SkillEntry
from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.files import read_start_of
from skillhub_mcp.skills.files.paths import MAX_DEPTH
from skillhub_mcp.skills.model import SKILL_FILE

MAX_ENTRIES = 2_000
MAX_FILES = 200
MAX_FILE_BYTES = 512 * 1024
MAX_BYTES = 4 * 1024 * 1024
_START = 16
# Directories of other people's code, which no skill is read for.
_LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MEDIA = frozenset(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4",
     ".wav", ".zip", ".gz", ".tgz", ".xz", ".7z", ".rar", ".docx", ".xlsx", ".pptx", ".parquet", ".pyc")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """What was read of a skill: its SKILL.md, its entries, its other texts by path, and what was left unread."""

    document: bytes | None
    entries: tuple[SkillEntry, ...]
    texts: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Budget:
    """What may still be read."""

    files: int = MAX_FILES
    whole: int = MAX_BYTES
    unread: list[tuple[str, str]] = field(default_factory=list)


def read_skill_files(directory: str) -> SkillFiles:
    """Read what the audit looks at. Never raises on the skill's content: what cannot be read is told."""
    budget = _Budget()
    document = _read(directory, SKILL_FILE, budget)
    entries: list[SkillEntry] = []
    texts: list[tuple[str, str]] = []
    for path, status, target in _walk(directory, budget):
        if target is not None:
            entries.append(SkillEntry(path, EntryKind.LINK, target=target))
            continue
        if not stat.S_ISREG(status.st_mode):
            entries.append(SkillEntry(path, EntryKind.OTHER))
            continue
        content = b"" if path == SKILL_FILE else _read(directory, path, budget)
        entries.append(
            SkillEntry(
                path,
                names=status.st_nlink,
                executable=bool(status.st_mode & 0o111),
                start=(content or b"")[:_START],
            )
        )
        if content and b"\0" not in content[:8_192]:
            texts.append((path, content.decode("utf-8", "replace")))
        elif content and content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            texts.append((path, content.decode("utf-16", "replace")))
    return SkillFiles(document, tuple(entries), tuple(texts), tuple(budget.unread))


def signature(directory: str) -> str:
    """Return a text that changes when a file is added to the skill, removed or written. Opens no file."""
    budget = _Budget()
    parts = [
        f"{path}\0{status.st_mode}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}"
        for path, status, _ in _walk(directory, budget)
    ]
    return "\n".join(parts)


def _walk(directory: str, budget: _Budget) -> Iterator[tuple[str, os.stat_result, str | None]]:
    """Yield each entry below the skill that is no directory, with the target of a link, in the order of paths."""
    waiting: deque[tuple[str, ...]] = deque([()])
    left = MAX_ENTRIES
    while waiting:
        parts = waiting.popleft()
        try:
            with os.scandir(os.path.join(directory, *parts)) as listed:
                found = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            budget.unread.append(("/".join(parts) or ".", error.strerror or type(error).__name__))
            continue
        for entry in found:
            path = "/".join((*parts, entry.name))
            left -= 1
            if left < 0:
                budget.unread.append((path, f"more than {MAX_ENTRIES:,} files"))
                return
            try:
                status = entry.stat(follow_symlinks=False)
                target = os.readlink(entry.path) if entry.is_symlink() else None
            except OSError as error:
                budget.unread.append((path, error.strerror or type(error).__name__))
                continue
            if target is not None or not stat.S_ISDIR(status.st_mode):
                yield path, status, target
            elif entry.name not in _LEFT_OUT and len(parts) < MAX_DEPTH:
                waiting.append((*parts, entry.name))


def _read(directory: str, path: str, budget: _Budget) -> bytes | None:
    media = os.path.splitext(path)[1].lower() in _MEDIA
    if budget.files <= 0 or budget.whole <= 0:
        if not budget.unread:
            budget.unread.append((path, "the skill has too many files, or too large ones"))
        return None
    wanted = _START if media else min(MAX_FILE_BYTES, budget.whole)
    try:
        content, size = read_start_of(directory, path, skill=os.path.basename(directory), max_bytes=wanted)
    except SkillHubError as error:
        budget.unread.append((path, error.message))
        return None
    budget.files -= 1
    budget.whole -= len(content)
    if size > len(content) and not media:
        budget.unread.append((path, f"its {size:,} bytes are more than {wanted:,}"))
    return content
