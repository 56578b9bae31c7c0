"""What is published of one skill? Its frontmatter and all of its files, each with its size and digest.

A file is hashed when its stamp says that it changed, and not when somebody asks (SEP-2640, Skill Entries).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.publishing.adapting import Withheld, published_document
from skillhub_mcp.publishing.verbatim import Json
from skillhub_mcp.skills.files import FileEntry, list_files, read_whole
from skillhub_mcp.skills.model import SKILL_FILE

# What every host must take; of a larger skill none is certain (SEP-2640, Limits).
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024

# Within its clock's tick a file may be written twice and keep its stamp: such a stamp is not believed.
_TICK_NS = 2_000_000_000
_UNBELIEVED = (0, 0, 0)

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file as it is served: its path below the skill, its length in bytes, and `sha256:` and its hash."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What is published of one skill, or why nothing is (`withheld`).

    `changes` say what of its SKILL.md is not as its author wrote it. `stamps` are those of its files, by path.
    """

    name: str
    stamps: Mapping[str, Stamp]
    frontmatter: Mapping[str, Json] = field(default_factory=dict)
    files: Sequence[PublishedFile] = ()
    changes: Sequence[str] = ()
    withheld: str | None = None

    def file(self, path: str) -> PublishedFile | None:
        """Return the published file at `path`."""
        return next((file for file in self.files if file.path == path), None)


def entry_of(directory: str, name: str, before: Entry | None, *, serve_dotfiles: bool) -> Entry:
    """Return the entry of the skill in `directory` as its files are now, published under `name`.

    It is `before` itself where nothing changed since; else only the files that did are read.
    """
    listed, more = list_files(directory, serve_dotfiles=serve_dotfiles, max_files=MAX_FILES)
    stamps = {file.path: file.stamp for file in listed}
    if before is not None and (before.name, before.stamps) == (name, stamps):
        return before
    began = time.time_ns()
    believed = {path: stamp if began - max(stamp[:2]) > _TICK_NS else _UNBELIEVED for path, stamp in stamps.items()}
    if more:
        return Entry(name, believed, withheld=f"it has more than {MAX_FILES} files, or some that cannot be listed")
    if sum(file.size for file in listed) > MAX_BYTES:
        return Entry(name, believed, withheld=f"its files have more than {MAX_BYTES:,} bytes")
    try:
        return _read(directory, listed, name, before, believed, serve_dotfiles=serve_dotfiles)
    except SkillHubError as error:
        # It may be there again at the next look, so nothing of this one is remembered.
        return Entry(name, {}, withheld=f"a file cannot be read: {error.message}")


def _read(
    directory: str,
    listed: Sequence[FileEntry],
    name: str,
    before: Entry | None,
    stamps: Mapping[str, Stamp],
    *,
    serve_dotfiles: bool,
) -> Entry:
    known: dict[str, PublishedFile] = {}
    if before is not None:
        known = {file.path: file for file in before.files if before.stamps[file.path] == stamps.get(file.path)}
    skill_file = read_whole(directory, SKILL_FILE, skill=name, max_bytes=MAX_BYTES)
    document = published_document(skill_file, name)
    if isinstance(document, Withheld):
        return Entry(name, stamps, withheld=document.reason)
    files = [published_file(SKILL_FILE, document.content)]
    for file in listed:
        if file.path == SKILL_FILE:
            continue
        content_known = known.get(file.path)
        if content_known is None or stamps[file.path] == _UNBELIEVED:
            content = read_whole(directory, file.path, skill=name, max_bytes=MAX_BYTES, serve_dotfiles=serve_dotfiles)
            content_known = published_file(file.path, content)
        files.append(content_known)
    return Entry(name, stamps, document.frontmatter, tuple(files), document.changes)


def published_file(path: str, content: bytes) -> PublishedFile:
    """Return what is said of the file at `path` that holds `content`."""
    return PublishedFile(path, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
