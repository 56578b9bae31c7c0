"""The publisher: the skills, files and directories that hosts can read natively, answered from entries in memory.

A skill that is excluded by a filter, a user's choice or a rule does not exist here: its URI is as unknown as any other.
One whose files are not those that were locked, where such are withheld, is known, and answers that.
"""

from __future__ import annotations

import base64
import binascii
import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.disclosure.hits import descriptions
from skillhub_mcp.errors import (
    InvalidArgument,
    LockUnreadable,
    PathNotAllowed,
    ResourceNotFound,
    SkillChanged,
    SkillDisabled,
    SkillFileNotFound,
    SkillNotFound,
)
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import NOTHING_GRANTED, Availability, Grant, Policy
from skillhub_mcp.publishing.entries import MAX_BYTES, PublishedEntry, PublishedFile, published_file, refresh_entry
from skillhub_mcp.publishing.normalization import Withheld, published_document
from skillhub_mcp.publishing.uris import UriPath, UriPaths, build_uri, parse_uri, skill_file, skill_paths
from skillhub_mcp.sanitize import path_for_model
from skillhub_mcp.skills.discovery import FilesOf, own_directory
from skillhub_mcp.skills.files.content import media_type
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import Snapshot

PAGE = 100
# resources/list is for browsing; skills/list returns all skills of a large library, in pages.
MAX_LISTED_RESOURCES = 1_000
DIRECTORY = "inode/directory"
_REMEMBERED = 20_000

_SKILL_FILE_TYPE = "text/markdown"
# Sent as bytes even if they are valid UTF-8: clients open these types with other programs.
_NEVER_TEXT = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/gzip")


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """A skill, its entry and the segments of its URI."""

    path: UriPath
    skill: Skill
    entry: PublishedEntry

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md."""
        return build_uri(skill_file(self.path))

    def file_uri(self, file_path: str) -> str:
        """Return the URI of one of its files, by relative path."""
        return build_uri((*self.path, *file_path.split("/")))


class Page(NamedTuple):
    """Some of the skills, sorted by URI, and the cursor of the next page, if there is one."""

    skills: Sequence[PublishedSkill]
    cursor: str | None


class Resource(NamedTuple):
    """The description of a resource: a SKILL.md, another file, or a directory."""

    uri: str
    name: str
    media_type: str
    description: str | None = None
    size: int | None = None


class Content(NamedTuple):
    """A file's bytes as served, and whether they are sent as text."""

    resource: Resource
    content: bytes
    is_text: bool


@dataclass(frozen=True)
class _UriIndex:
    """The URIs of one snapshot. `listed` are those that `skills/list` may show, sorted; `longest` is the most segments
    of any.
    """

    snapshot: Snapshot
    skills: dict[UriPath, Skill]
    listed: list[UriPath]
    longest: int


class Publisher:
    """Publishes the skills of one hub. `files_of` says where their files lie. Thread-safe."""

    def __init__(self, hub: SkillHub, *, serve_dotfiles: bool, files_of: FilesOf = own_directory) -> None:
        self._hub = hub
        self._serve_dotfiles = serve_dotfiles
        self._files_of = files_of
        self._lock = threading.Lock()
        self._last_index: _UriIndex | None = None
        self._entries: LRUCache[str, PublishedEntry] = LRUCache(_REMEMBERED)

    def page(self, cursor: str | None = None, *, limit: int = PAGE) -> Page:
        """Return at most `limit` skills after `cursor`, sorted by URI.

        Not listed, but served: skills that await trust, skills that models may not invoke, copies, and skills whose
        name another skill of the same source has won. Raises InvalidArgument for an invalid cursor.
        """
        index, policy = self._present()
        names = Names(index.snapshot, policy)
        at = 0 if cursor is None else bisect_right(index.listed, _from_cursor(cursor))
        found: list[PublishedSkill] = []
        while at < len(index.listed) and len(found) < limit:
            some = index.listed[at : at + limit - len(found)]
            at += len(some)
            for path in some:
                skill = index.skills[path]
                if _is_listed(skill, names) and policy.is_as_locked(skill):
                    published = self._published(path, skill)
                    found += [published] if published.entry.withheld is None else []
        # The cursor names the last skill returned: it must not reveal a skill that this caller may not see.
        more = any(_is_listed(index.skills[path], names) for path in islice(index.listed, at, None))
        return Page(found, _to_cursor(found[-1].path) if more else None)

    def skill(self, uri: str) -> PublishedSkill:
        """Return the skill whose SKILL.md has the URI `uri`, listed or not. Raises ResourceNotFound."""
        index, policy = self._present()
        path, rest = self._find(index, policy, uri)
        if rest != (SKILL_FILE,):
            raise ResourceNotFound(uri, "is not the URI of a SKILL.md", hint="call skills/list for the URIs of skills")
        return self._published_skill(index, path, uri)

    def content(self, uri: str, *, granted: Collection[Grant] = NOTHING_GRANTED) -> Content:
        """Return the file at `uri`, byte for byte as in its entry (SEP-2640, Reading Skill Content).

        If the bytes no longer match the cached entry, the entry is computed again first, so that a host whose digest
        check fails gets the right digest with its next request. Raises ResourceNotFound, and the permission errors of
        `SkillHub.read_bytes`.
        """
        index, policy = self._present()
        path, rest = self._find(index, policy, uri)
        if not rest:
            raise ResourceNotFound(uri, "is a directory", hint="list it with resources/directory/read")
        file_path = "/".join(rest)
        published = self._published_skill(index, path, uri)
        if published.entry.file(file_path) is None:
            raise ResourceNotFound(uri)
        content = self._read_bytes(published, file_path, uri, granted)
        file = published_file(file_path, content)
        if published.entry.file(file_path) != file:
            published = self._published_skill(index, path, uri, reread=True)
        resource = _resource(published, file)
        return Content(resource, content, file.is_text and not resource.media_type.startswith(_NEVER_TEXT))

    def digests(self, uris: Iterable[str]) -> dict[str, str | None]:
        """Return the current digest of the file at each URI, or None if the caller may not read such a file.

        Uses the skills of the last scan, and requires each URI to be spelled as in its entry. It does not count as
        reading, so observers are not notified. Raises PolicyUnreadable.
        """
        snapshot, policy = self._hub.snapshot_and_policy(last_seen=True)
        index = self._uri_index(snapshot)
        found: dict[str, str | None] = dict.fromkeys(uris)
        for uri in found:
            with suppress(ResourceNotFound, SkillChanged, LockUnreadable):
                path, rest = self._find(index, policy, uri)
                file = self._published_skill(index, path, uri).entry.file("/".join(rest))
                found[uri] = file.digest if file is not None and uri == build_uri((*path, *rest)) else None
        return found

    def children(self, uri: str) -> Sequence[Resource]:
        """Return the files and directories directly in `uri`, the directory of a skill or one below it.

        Raises ResourceNotFound for anything else.
        """
        index, policy = self._present()
        path, rest = self._find(index, policy, uri)
        published = self._published_skill(index, path, uri)
        above = "/".join((*rest, ""))
        inside = [file for file in published.entry.files if file.path.startswith(above)]
        if not inside:
            raise ResourceNotFound(
                uri, "is not a directory" if published.entry.file("/".join(rest)) else "is not served"
            )
        names = {file.path[len(above) :].partition("/")[0]: file for file in inside}
        return [
            _resource(published, file)
            if file.path == above + name
            else Resource(published.file_uri(above + name), path_for_model(name), DIRECTORY)
            for name, file in sorted(names.items())
        ]

    def resources(self) -> Sequence[Resource]:
        """Return the SKILL.md of each listed skill, of the first thousand at most.

        Only reading one shows whether it is withheld.
        """
        index, policy = self._present()
        names = Names(index.snapshot, policy)
        listed = (path for path in index.listed if _is_listed(index.skills[path], names))
        return [_skill_resource(path, index.skills[path].description) for path in islice(listed, MAX_LISTED_RESOURCES)]

    def base_uri(self, skill: Skill) -> str | None:
        """Return the URI of a skill's directory, or None if it has no published name."""
        snapshot = self._hub.snapshot_and_policy()[0]
        known = snapshot.by_directory(skill.directory)
        path = None if known is None else UriPaths(snapshot.report.roots).of(known)
        return None if path is None else build_uri(path)

    def directory_at(self, uri: str) -> str | None:
        """Return the directory of the skill of which `uri` is the `base_uri`, or that of its SKILL.md, or None.

        The caller may not be allowed to have the skill.
        """
        segments = parse_uri(uri)
        if segments is None:
            return None
        index, _ = self._present()
        skill = index.skills.get(segments[:-1] if segments[-1] == SKILL_FILE else segments)
        return None if skill is None else skill.directory

    def _present(self) -> tuple[_UriIndex, Policy]:
        snapshot, policy = self._hub.snapshot_and_policy()
        return self._uri_index(snapshot), policy

    def _uri_index(self, snapshot: Snapshot) -> _UriIndex:
        with self._lock:
            index = self._last_index
            if index is None or index.snapshot is not snapshot:
                index = self._last_index = _make_uri_index(snapshot)
            return index

    def _find(self, index: _UriIndex, policy: Policy, uri: str) -> tuple[UriPath, UriPath]:
        """Return the path of the skill that contains `uri`, and the segments after it."""
        segments = parse_uri(uri) or ()
        for length in range(2, min(len(segments), index.longest) + 1):
            skill = index.skills.get(segments[:length])
            if skill is None:
                continue
            availability = policy.availability(skill)
            if availability in (Availability.ON, Availability.CHANGED):
                policy.check_locked(skill)
                return segments[:length], segments[length:]
        raise ResourceNotFound(uri, hint="call skills/list for the URIs of skills")

    def _published_skill(self, index: _UriIndex, path: UriPath, uri: str, *, reread: bool = False) -> PublishedSkill:
        """Return a skill with its current entry; with `reread`, all of its files are read."""
        published = self._published(path, index.skills[path], reread=reread)
        if published.entry.withheld is not None:
            raise ResourceNotFound(uri, f"is not served: {published.entry.withheld}")
        return published

    def _published(self, path: UriPath, skill: Skill, *, reread: bool = False) -> PublishedSkill:
        """Return a skill with its current entry, withheld or not; `reread` reads unchanged files too."""
        with self._lock:
            before = None if reread else self._entries.get(skill.directory)
        entry = refresh_entry(self._files_of(skill), path[-1], before, serve_dotfiles=self._serve_dotfiles)
        with self._lock:
            self._entries.put(skill.directory, entry)
        return PublishedSkill(path, skill, entry)

    def _read_bytes(self, published: PublishedSkill, file_path: str, uri: str, granted: Collection[Grant]) -> bytes:
        """Return the current bytes of a file, as published."""
        try:
            content = self._hub.read_bytes(published.skill, file_path, max_bytes=MAX_BYTES, granted=granted)
        except (SkillFileNotFound, PathNotAllowed) as error:
            raise ResourceNotFound(uri, f"is not served: {error.message}") from error
        except (SkillNotFound, SkillDisabled) as error:
            # The skill has become unavailable since it was found.
            raise ResourceNotFound(uri) from error
        if file_path != SKILL_FILE:
            return content
        document = published_document(content, published.path[-1])
        if isinstance(document, Withheld):
            raise ResourceNotFound(uri, f"is not served: {document.reason}")
        return document.content


def _make_uri_index(snapshot: Snapshot) -> _UriIndex:
    skills = skill_paths(snapshot)
    listed = [path for path, skill in skills.items() if not skill.disable_model_invocation]
    return _UriIndex(snapshot, skills, listed, max(map(len, skills), default=0))


def _is_listed(skill: Skill, names: Names) -> bool:
    """Whether `skills/list` shows a skill: hosts may list it, a name means it, and it is no copy of another."""
    return names.lists(skill) and names.has_handle(skill) and not names.is_copy(skill)


def _resource(published: PublishedSkill, file: PublishedFile) -> Resource:
    if file.path == SKILL_FILE:
        return _skill_resource(published.path, str(published.entry.frontmatter["description"]), file.size)
    name = file.path.rpartition("/")[2]
    return Resource(
        published.file_uri(file.path), path_for_model(name), media_type(name, text=file.is_text), None, file.size
    )


def _skill_resource(path: UriPath, description: str, size: int | None = None) -> Resource:
    # Shortened as in search results: a list of resources may have a thousand.
    return Resource(build_uri(skill_file(path)), path[-1], _SKILL_FILE_TYPE, descriptions((description,))[0], size)


def _to_cursor(path: UriPath) -> str:
    return base64.urlsafe_b64encode(build_uri(path).encode()).decode()


def _from_cursor(cursor: str) -> UriPath:
    try:
        path = parse_uri(base64.b64decode(cursor, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        path = None
    if path is None:
        raise InvalidArgument("cursor", "is not a cursor of an earlier page", hint="omit it to start over")
    return path
