"""The entry of a published skill: its frontmatter and all of its files, each with its size and digest.

A file is hashed when its stamp has changed, not on each request (SEP-2640, Skill Entries).
"""

from __future__ import annotations

import hashlib
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

_TOO_LARGE = f"its files have more than {MAX_BYTES:,} bytes"

# Of each file by path: its stamp, and its size. A file with the same ones is unchanged.
Stamps = Mapping[str, tuple[int, ...]]


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

    `changes` describe the differences between the published SKILL.md and the original. Without `stamps` the entry does
    not hold for the next request: a file could not be read, or not all were listed.
    """

    name: str
    stamps: Stamps
    frontmatter: Mapping[str, Json] = field(default_factory=dict)
    files: Sequence[PublishedFile] = ()
    changes: Sequence[str] = ()
    withheld: str | None = None

    def file(self, path: str) -> PublishedFile | None:
        """Return the published file at `path`, or None."""
        return next((file for file in self.files if file.path == path), None)


def refresh_entry(directory: str, name: str, before: PublishedEntry | None, *, serve_dotfiles: bool) -> PublishedEntry:
    """Return the current entry of the skill in `directory`, published under `name`: `before` if no file has changed."""
    listed, more = list_files(directory, serve_dotfiles=serve_dotfiles, max_files=MAX_FILES)
    if more:
        return PublishedEntry(name, {}, withheld=unlisted_reason(listed, MAX_FILES))
    stamps = stamps_of(listed)
    if before is not None and (before.name, before.stamps) == (name, stamps):
        return before
    if sum(file.size for file in listed) > MAX_BYTES:
        return PublishedEntry(name, stamps, withheld=_TOO_LARGE)
    try:
        return _read(directory, listed, name, stamps, serve_dotfiles=serve_dotfiles)
    except SkillHubError as error:
        return PublishedEntry(name, {}, withheld=f"a file cannot be read: {error.message}")


def stamps_of(listed: Sequence[FileEntry]) -> Stamps:
    """Return what tells whether these files have changed."""
    return {file.path: (*file.stamp, file.size) for file in listed}


def unlisted_reason(listed: Sequence[FileEntry], max_files: int) -> str:
    """Return why a skill is withheld of which `list_files` lists no more than these, though it has more."""
    if len(listed) >= max_files:
        return f"it has more than {max_files:,} files"
    return f"some of its files cannot be listed: over {MAX_DEPTH} levels deep, too many, or in an unreadable directory"


def _read(
    directory: str, listed: Sequence[FileEntry], name: str, stamps: Stamps, *, serve_dotfiles: bool
) -> PublishedEntry:
    skill_file = read_whole(directory, SKILL_FILE, skill=name, max_bytes=MAX_BYTES)
    document = published_document(skill_file, name)
    if isinstance(document, Withheld):
        return PublishedEntry(name, stamps, withheld=document.reason)
    files = [published_file(SKILL_FILE, document.content)]
    for file in listed:
        if not is_skill_file(file.path):
            content = read_whole(directory, file.path, skill=name, max_bytes=MAX_BYTES, serve_dotfiles=serve_dotfiles)
            files.append(published_file(file.path, content))
    if sum(file.size for file in files) > MAX_BYTES:
        # Files have grown since they were listed, or the SKILL.md has grown by its conversion to UTF-8.
        return PublishedEntry(name, {}, withheld=_TOO_LARGE)
    return PublishedEntry(name, stamps, document.frontmatter, tuple(files), document.changes)


def published_file(path: str, content: bytes) -> PublishedFile:
    """Return the size, digest and kind of the file at `path` with `content`."""
    return PublishedFile(path, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}", is_text(content))
