"""The entry of a published skill: its frontmatter and all of its files, each with its size and digest.

A file is hashed when its stamp has changed, not on each request (SEP-2640, Skill Entries).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.publishing.normalization import Withheld, is_text, published_document
from skillhub_mcp.publishing.portable_yaml import Json
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.files.listing import FileEntry, list_files
from skillhub_mcp.skills.files.paths import MAX_DEPTH
from skillhub_mcp.skills.model import SKILL_FILE, is_skill_file

# The limits that every host must support; a larger skill may be rejected (SEP-2640, Limits).
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024

# A file that is written twice within one tick of the clock keeps its stamp, so a recent stamp is not trusted. A stamp
# far in the future was set by hand, and the next change will alter it.
_TICK_NS = 2_000_000_000
_AHEAD_NS = 3_600_000_000_000
_UNTRUSTED = (0, 0, 0)

_TOO_LARGE = f"its files have more than {MAX_BYTES:,} bytes"

FileIdentity = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file as served: its path relative to the skill, its size in bytes, and its digest, as `sha256:` and hex."""

    path: str
    size: int
    digest: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """The entry of one skill, or the reason why it is not published (`withheld`).

    `changes` describe the differences between the published SKILL.md and the original. `stamps` are those of the
    skill's files, by path. What is withheld because a file could not be read is `is_temporary`, and not cached.
    """

    name: str
    stamps: Mapping[str, FileIdentity]
    frontmatter: Mapping[str, Json] = field(default_factory=dict)
    files: Sequence[PublishedFile] = ()
    changes: Sequence[str] = ()
    withheld: str | None = None
    is_temporary: bool = False

    def file(self, path: str) -> PublishedFile | None:
        """Return the published file at `path`, or None."""
        return next((file for file in self.files if file.path == path), None)


def refresh_entry(directory: str, name: str, before: PublishedEntry | None, *, serve_dotfiles: bool) -> PublishedEntry:
    """Return the current entry of the skill in `directory`, published under `name`.

    If nothing has changed since `before`, that is `before` itself; otherwise only the changed files are read.
    """
    listed, more = list_files(directory, serve_dotfiles=serve_dotfiles, max_files=MAX_FILES)
    stamps = {file.path: file.stamp for file in listed}
    if before is not None and not more and (before.name, before.stamps) == (name, stamps):
        return before
    now = time.time_ns()
    trusted = {path: stamp if is_settled(stamp, now) else _UNTRUSTED for path, stamp in stamps.items()}
    if more:
        # The stamps of the listed files say nothing about the others.
        withheld = unlisted_reason(listed, MAX_FILES)
        entry = PublishedEntry(name, {}, withheld=withheld, is_temporary=len(listed) < MAX_FILES)
    elif sum(file.size for file in listed) > MAX_BYTES:
        entry = PublishedEntry(name, trusted, withheld=_TOO_LARGE)
    else:
        try:
            entry = _read(directory, listed, name, before, trusted, serve_dotfiles=serve_dotfiles)
        except SkillHubError as error:
            entry = PublishedEntry(name, {}, withheld=f"a file cannot be read: {error.message}", is_temporary=True)
    return before if before == entry else entry


def unlisted_reason(listed: Sequence[FileEntry], max_files: int) -> str:
    """Return why a skill is withheld of which `list_files` lists no more than these, though it has more."""
    if len(listed) >= max_files:
        return f"it has more than {max_files:,} files"
    return f"some of its files cannot be listed: over {MAX_DEPTH} levels deep, too many, or in an unreadable directory"


def is_settled(stamp: FileIdentity, now: int) -> bool:
    """Whether a file with this stamp, which was listed after `now` in ns since 1970, gets another by any change."""
    return all(now - written > _TICK_NS or now - written < -_AHEAD_NS for written in stamp[:2])


def _read(
    directory: str,
    listed: Sequence[FileEntry],
    name: str,
    before: PublishedEntry | None,
    stamps: Mapping[str, FileIdentity],
    *,
    serve_dotfiles: bool,
) -> PublishedEntry:
    known: dict[str, PublishedFile] = {}
    if before is not None:
        unchanged = {path for path, stamp in before.stamps.items() if stamp == stamps.get(path) != _UNTRUSTED}
        known = {file.path: file for file in before.files if file.path in unchanged}
    skill_file = read_whole(directory, SKILL_FILE, skill=name, max_bytes=MAX_BYTES)
    document = published_document(skill_file, name)
    if isinstance(document, Withheld):
        return PublishedEntry(name, stamps, withheld=document.reason)
    files = [published_file(SKILL_FILE, document.content)]
    for file in listed:
        if is_skill_file(file.path):
            continue
        published = known.get(file.path)
        if published is None:
            content = read_whole(directory, file.path, skill=name, max_bytes=MAX_BYTES, serve_dotfiles=serve_dotfiles)
            published = published_file(file.path, content)
        files.append(published)
    if sum(file.size for file in files) > MAX_BYTES:
        # Files have grown since they were listed, or the SKILL.md has grown by its conversion to UTF-8.
        return PublishedEntry(name, {}, withheld=_TOO_LARGE)
    return PublishedEntry(name, stamps, document.frontmatter, tuple(files), document.changes)


def published_file(path: str, content: bytes) -> PublishedFile:
    """Return the size, digest and kind of the file at `path` with `content`."""
    return PublishedFile(path, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}", is_text(content))
