"""Reading a skill for the audit, confined and within bounds; what an agent runs or follows is read first."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from skillhub_mcp.auditing.entries import SCRIPTS, SkillEntry
from skillhub_mcp.errors import SkillHubError, SkillUnverifiable
from skillhub_mcp.skills.digest import skill_stamp
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files import read_start_of
from skillhub_mcp.skills.files.paths import MAX_DEPTH
from skillhub_mcp.skills.model import MAX_SKILL_FILE_BYTES, SKILL_FILE, is_skill_file
from skillhub_mcp.skills.roots import builtin_directory, is_at_or_below

MAX_ENTRIES = 2_000
MAX_FILES = 200
MAX_FILE_BYTES = 512 * 1024
# A text against the patterns takes about four seconds a mebibyte.
MAX_BYTES = 1024 * 1024
_START = 16
_GIT = ".git"
# Directories of installed packages, which hold too much to read.
_PACKAGES = frozenset({"node_modules", ".venv"})
_MEDIA = frozenset(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4",
     ".wav", ".zip", ".gz", ".tgz", ".xz", ".7z", ".rar", ".docx", ".xlsx", ".pptx", ".parquet", ".pyc")
)  # fmt: skip
# Starts of media that can be mistaken for a text.
_MEDIA_STARTS = (b"%PDF", b"GIF8", b"RIFF", b"wOF", b"OTTO", b"PK", b"PAR1", b"ID3", b"7z", b"Rar!")
_PRINTED = bytes(range(32, 127)) + b"\t\r\n"
# What an agent follows; what it runs is `SCRIPTS`, and a name without an ending may be a script.
_FOLLOWED = frozenset((".md", ".mdx", ".markdown", ".txt", ".rst", ".yml", ".yaml", ".toml", ".json", ".html"))


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """What was read of a skill: its SKILL.md (`file`), entries, other texts by path, and what was left unread."""

    document: bytes | None
    entries: tuple[SkillEntry, ...]
    texts: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...] = ()
    file: str = SKILL_FILE


@dataclass(slots=True)
class _Budget:
    """What may still be read."""

    files: int
    whole: int
    full: bool = False
    unread: list[tuple[str, str]] = field(default_factory=list)


def read_skill_files(directory: str) -> SkillFiles:
    """Read what the audit looks at. Never raises on the skill's content: what cannot be read is reported."""
    budget = _Budget(MAX_FILES, MAX_BYTES)
    file = skill_file_in(directory) or SKILL_FILE
    document = _read(directory, file, budget)
    # An installer may link the package's own files from its cache, as uv does: their other name is no secret.
    shipped = is_at_or_below(os.path.realpath(directory), os.path.realpath(builtin_directory()))
    entries: list[SkillEntry] = []
    texts: list[tuple[str, str]] = []
    for path, status, target in sorted(_walk(directory, budget), key=lambda one: -weight(one[0])):
        if target is not None:
            entries.append(SkillEntry(path, "link", target=target))
            continue
        if not stat.S_ISREG(status.st_mode):
            entries.append(SkillEntry(path, "other"))
            continue
        content = b"" if path == file else _read(directory, path, budget)
        start = (content or b"")[:_START]
        names = 1 if shipped else status.st_nlink
        entries.append(SkillEntry(path, names=names, executable=bool(status.st_mode & 0o111), start=start))
        text = _as_text(path, content or b"")
        if text:
            texts.append((path, text))
    return SkillFiles(document, tuple(entries), tuple(texts), tuple(budget.unread), file)


def weight(path: str) -> int:
    """Return how much a file weighs by its name: 2 for what an agent may run, 1 for what it may follow, or 0."""
    if path.endswith("/"):
        return 0
    ending = os.path.splitext(path)[1].lower()
    return 2 if not ending or ending in SCRIPTS else int(ending in _FOLLOWED)


def signature(directory: str) -> str:
    """Return a text that changes with the skill's files, and always if it cannot be read whole. Opens no file."""
    try:
        return skill_stamp(directory)[0]
    except (OSError, SkillUnverifiable):
        return str(time.time_ns())


def _walk(directory: str, budget: _Budget) -> Iterator[tuple[str, os.stat_result, str | None]]:
    """Yield the path, the status and a link's target of each entry below the skill that is no directory."""
    waiting: deque[tuple[str, ...]] = deque([()])
    left = MAX_ENTRIES
    while waiting:
        parts = waiting.popleft()
        try:
            with os.scandir(os.path.join(directory, *parts)) as listed:
                found = sorted(islice(listed, left + 1), key=lambda entry: entry.name)
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
            elif entry.name in _PACKAGES:
                budget.unread.append((f"{path}/", "installed packages"))
            elif len(parts) >= MAX_DEPTH:
                budget.unread.append((path, f"more than {MAX_DEPTH} levels deep"))
            elif entry.name != _GIT:
                waiting.append((*parts, entry.name))


def _read(directory: str, path: str, budget: _Budget) -> bytes | None:
    media = os.path.splitext(path)[1].lower() in _MEDIA
    if budget.whole <= 0 or (budget.files <= 0 and not media):
        if not budget.full:
            budget.full = True
            budget.unread.append((path, "the skill has too many files, or too large ones"))
        return None
    wanted = min(MAX_FILE_BYTES, budget.whole)
    try:
        content, size = read_start_of(
            directory, path, skill=os.path.basename(directory), max_bytes=_START if media else wanted
        )
        if media and _is_printed(content):
            media = False
            content, size = read_start_of(directory, path, skill=os.path.basename(directory), max_bytes=wanted)
    except SkillHubError as error:
        budget.unread.append((path, error.message))
        return None
    budget.files -= not media
    budget.whole -= len(content)
    if size > len(content) and not media:
        is_refused = is_skill_file(path) and size > MAX_SKILL_FILE_BYTES
        most = MAX_SKILL_FILE_BYTES if is_refused else wanted
        budget.unread.append((path, f"its {size:,} bytes are more than {most:,}"))
    return content


def _is_printed(start: bytes) -> bool:
    """Whether what is called an image, an archive or the like starts as a text does."""
    return bool(start) and not start.translate(None, _PRINTED) and not start.startswith(_MEDIA_STARTS)


def _as_text(path: str, content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    if b"\0" not in content[:8_192]:
        return content.decode("utf-8", "replace")
    # A shell skips these bytes and a terminal does not show them: what is called a text is one all the same.
    if (os.path.splitext(path)[1] and weight(path)) or content.startswith(b"#!"):
        return content.replace(b"\0", b"").decode("utf-8", "replace")
    return ""
