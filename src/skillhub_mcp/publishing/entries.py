"""What is published of one skill? Its frontmatter and all of its files, each with its size and digest.

A file is hashed when its stamp says that it changed, and not when somebody asks (SEP-2640, Skill Entries).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.publishing.normalization import Withheld, is_text, published_document
from skillhub_mcp.publishing.portable_yaml import Json
from skillhub_mcp.skills.files import FileEntry, list_files, read_whole
from skillhub_mcp.skills.model import SKILL_FILE

# What every host must take; of a larger skill none is certain (SEP-2640, Limits).
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024

# Within its clock's tick a file may be written twice and keep its stamp: such a stamp is not believed. One from far in
# the future was set by hand, and the next change would show.
_TICK_NS = 2_000_000_000
_AHEAD_NS = 3_600_000_000_000
_UNBELIEVED = (0, 0, 0)

_TOO_LARGE = f"its files have more than {MAX_BYTES:,} bytes"

FileIdentity = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file as it is served: its path below the skill, its length in bytes, `sha256:` and its hash, and its kind."""

    path: str
    size: int
    digest: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """What is published of one skill, or why nothing is (`withheld`).

    `changes` say what of its SKILL.md is not as its author wrote it. `stamps` are those of its files, by path.
    """

    name: str
    stamps: Mapping[str, FileIdentity]
    frontmatter: Mapping[str, Json] = field(default_factory=dict)
    files: Sequence[PublishedFile] = ()
    changes: Sequence[str] = ()
    withheld: str | None = None

    def file(self, path: str) -> PublishedFile | None:
        """Return the published file at `path`."""
        return next((file for file in self.files if file.path == path), None)


def refresh_entry(directory: str, name: str, before: PublishedEntry | None, *, serve_dotfiles: bool) -> PublishedEntry:
    """Return the entry of the skill in `directory` as its files are now, published under `name`.

    It is `before` itself where nothing changed since; else only the files that did are read.
    """
    listed, more = list_files(directory, serve_dotfiles=serve_dotfiles, max_files=MAX_FILES)
    stamps = {file.path: file.stamp for file in listed}
    if before is not None and not more and (before.name, before.stamps) == (name, stamps):
        return before
    now = time.time_ns()
    believed = {path: stamp if _is_believed(stamp, now) else _UNBELIEVED for path, stamp in stamps.items()}
    if more:
        # The stamps of those that are listed say nothing of the others.
        made = PublishedEntry(name, {}, withheld=f"it has more than {MAX_FILES} files, or some that cannot be listed")
    elif sum(file.size for file in listed) > MAX_BYTES:
        made = PublishedEntry(name, believed, withheld=_TOO_LARGE)
    else:
        try:
            made = _read(directory, listed, name, before, believed, serve_dotfiles=serve_dotfiles)
        except SkillHubError as error:
            # It may be there again at the next look, so nothing of this one is remembered.
            made = PublishedEntry(name, {}, withheld=f"a file cannot be read: {error.message}")
    return before if before == made else made


def _is_believed(stamp: FileIdentity, now: int) -> bool:
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
        unchanged = {path for path, stamp in before.stamps.items() if stamp == stamps.get(path) != _UNBELIEVED}
        known = {file.path: file for file in before.files if file.path in unchanged}
    skill_file = read_whole(directory, SKILL_FILE, skill=name, max_bytes=MAX_BYTES)
    document = published_document(skill_file, name)
    if isinstance(document, Withheld):
        return PublishedEntry(name, stamps, withheld=document.reason)
    files = [published_file(SKILL_FILE, document.content)]
    for file in listed:
        if file.path == SKILL_FILE:
            continue
        published = known.get(file.path)
        if published is None:
            content = read_whole(directory, file.path, skill=name, max_bytes=MAX_BYTES, serve_dotfiles=serve_dotfiles)
            published = published_file(file.path, content)
        files.append(published)
    if sum(file.size for file in files) > MAX_BYTES:
        # They have grown since they were listed, or the SKILL.md did when it was written as UTF-8.
        return PublishedEntry(name, {}, withheld=_TOO_LARGE)
    return PublishedEntry(name, stamps, document.frontmatter, tuple(files), document.changes)


def published_file(path: str, content: bytes) -> PublishedFile:
    """Return what is said of the file at `path` that holds `content`."""
    return PublishedFile(path, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}", is_text(content))
