"""Read a skill for the audit, confined and within bounds; scripts and instructions first."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from skillhub_mcp.auditing.entries import MEDIA, SCRIPTS, SkillEntry
from skillhub_mcp.errors import SkillHubError, SkillUnverifiable
from skillhub_mcp.skills.digest import skill_stamp
from skillhub_mcp.skills.discovery import skill_file_in
from skillhub_mcp.skills.files.content import read_start_of
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
# Starts of media that can be mistaken for a text.
_MEDIA_STARTS = (b"%PDF", b"GIF8", b"RIFF", b"wOF", b"OTTO", b"PK", b"PAR1", b"ID3", b"7z", b"Rar!")
_PRINTED = bytes(range(32, 127)) + b"\t\r\n"
# Instructions. Scripts are `SCRIPTS`, and files without an ending.
_FOLLOWED = frozenset((".md", ".mdx", ".markdown", ".txt", ".rst", ".yml", ".yaml", ".toml", ".json", ".html"))


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """What was read of a skill: its SKILL.md (`file`), entries, other texts by path, and what was left unread."""

    document: bytes | None
    entries: tuple[SkillEntry, ...]
    texts: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...] = ()
    file: str = SKILL_FILE


def read_skill_files(directory: str) -> SkillFiles:
    """Read what the audit looks at. Never raises on the skill's content: what cannot be read is reported."""
    return _Reader(directory).read()


def weight(path: str) -> int:
    """Return the weight of a file by its name: 2 for a script, 1 for instructions, or 0."""
    if path.endswith("/"):
        return 0
    ending = os.path.splitext(path)[1].lower()
    return 2 if not ending or ending in SCRIPTS else int(ending in _FOLLOWED)


def signature(directory: str) -> str:
    """Return a text that changes with the skill's files, and always if one is unreadable. Opens no file."""
    try:
        return skill_stamp(directory)
    except (OSError, SkillUnverifiable):
        return str(time.time_ns())


class _Reader:
    """Reads one skill within the bounds."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._files_left = MAX_FILES
        self._bytes_left = MAX_BYTES
        self._is_full = False
        self._unread: list[tuple[str, str]] = []

    def read(self) -> SkillFiles:
        file = skill_file_in(self._directory) or SKILL_FILE
        document = self._read(file)
        # An installer may link the package's own files from its cache, as uv does: those links are harmless.
        is_bundled = is_at_or_below(os.path.realpath(self._directory), os.path.realpath(builtin_directory()))
        entries: list[SkillEntry] = []
        texts: list[tuple[str, str]] = []
        for path, status, target in sorted(self._walk(), key=lambda one: -weight(one[0])):
            if target is not None:
                entries.append(SkillEntry(path, "link", target=target))
            elif not stat.S_ISREG(status.st_mode):
                entries.append(SkillEntry(path, "other"))
            else:
                content = (b"" if path == file else self._read(path)) or b""
                names = 1 if is_bundled else status.st_nlink
                executable = bool(status.st_mode & 0o111)
                entries.append(SkillEntry(path, names=names, executable=executable, start=content[:_START]))
                if text := _as_text(path, content):
                    texts.append((path, text))
        return SkillFiles(document, tuple(entries), tuple(texts), tuple(self._unread), file)

    def _walk(self) -> Iterator[tuple[str, os.stat_result, str | None]]:
        """Yield the path, the status and a link's target of each entry below the skill that is not a directory."""
        left = MAX_ENTRIES
        for place, directories, files in os.walk(self._directory, onerror=self._note):
            names, directories[:] = sorted((*directories, *files)), []
            for name in names:
                entry = os.path.join(place, name)
                path = self._path_of(entry)
                left -= 1
                if left < 0:
                    self._unread.append((path, f"more than {MAX_ENTRIES:,} files"))
                    return
                try:
                    status = os.lstat(entry)
                    target = os.readlink(entry) if stat.S_ISLNK(status.st_mode) else None
                except OSError as error:
                    self._note(error)
                    continue
                if not stat.S_ISDIR(status.st_mode):
                    yield path, status, target
                elif name in _PACKAGES:
                    self._unread.append((f"{path}/", "installed packages"))
                elif path.count("/") >= MAX_DEPTH:
                    self._unread.append((path, f"more than {MAX_DEPTH} levels deep"))
                elif name != _GIT:
                    directories.append(name)

    def _path_of(self, entry: str) -> str:
        return os.path.relpath(entry, self._directory).replace(os.sep, "/")

    def _note(self, error: OSError) -> None:
        self._unread.append((self._path_of(error.filename), error.strerror or type(error).__name__))

    def _read(self, path: str) -> bytes | None:
        media = os.path.splitext(path)[1].lower() in MEDIA
        if self._bytes_left <= 0 or (self._files_left <= 0 and not media):
            if not self._is_full:
                self._is_full = True
                self._unread.append((path, "the skill has too many files, or too large ones"))
            return None
        wanted = min(MAX_FILE_BYTES, self._bytes_left)
        read = partial(read_start_of, self._directory, path, skill=os.path.basename(self._directory))
        try:
            content, size = read(max_bytes=_START if media else wanted)
            if media and _is_printed(content):
                media = False
                content, size = read(max_bytes=wanted)
        except SkillHubError as error:
            self._unread.append((path, error.message))
            return None
        self._files_left -= not media
        self._bytes_left -= len(content)
        if size > len(content) and not media:
            is_refused = is_skill_file(path) and size > MAX_SKILL_FILE_BYTES
            most = MAX_SKILL_FILE_BYTES if is_refused else wanted
            self._unread.append((path, f"its {size:,} bytes are more than {most:,}"))
        return content


def _is_printed(start: bytes) -> bool:
    """Whether a file with the ending of an image or archive starts like a text."""
    return bool(start) and not start.translate(None, _PRINTED) and not start.startswith(_MEDIA_STARTS)


def _as_text(path: str, content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    if b"\0" not in content[:8_192]:
        return content.decode("utf-8", "replace")
    # A shell skips NUL bytes and a terminal hides them, so a script with some is still a script.
    if (os.path.splitext(path)[1] and weight(path)) or content.startswith(b"#!"):
        return content.replace(b"\0", b"").decode("utf-8", "replace")
    return ""
