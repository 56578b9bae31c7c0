"""Which skills does a host get that reads them natively, and what of each? Everything is answered from what is kept.

What a server does not offer, by filter, choice or rule, is not there at all: its URI is as unknown as any other's.
"""

from __future__ import annotations

import base64
import binascii
import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from skillhub_mcp.errors import (
    InvalidArgument,
    PathNotAllowed,
    ResourceNotFound,
    SkillDisabled,
    SkillFileNotFound,
    SkillNotFound,
)
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant, Policy
from skillhub_mcp.publishing.entries import MAX_BYTES, PublishedEntry, PublishedFile, published_file, refresh_entry
from skillhub_mcp.publishing.entry_cache import EntryCache
from skillhub_mcp.publishing.normalization import Withheld, published_document
from skillhub_mcp.publishing.uris import SCHEME, UriPath, build_uri, parse_uri, skill_file, skill_paths
from skillhub_mcp.skills.files import media_type
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.snapshot import ShadowReason, Snapshot

PAGE = 100
# resources/list is for people who look around; whoever wants all of a large library asks skills/list.
MAX_LISTED_RESOURCES = 1_000
DIRECTORY = "inode/directory"

_NO_NAME = "neither its name nor its directory's has a form in a-z, 0-9 and hyphens"
_SKILL_FILE_TYPE = "text/markdown"
# As bytes even where the bytes happen to be text: a client shows these with a program of their own.
_NEVER_TEXT = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/gzip")


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """A skill and its entry, at its place among the URIs."""

    path: UriPath
    skill: Skill
    entry: PublishedEntry

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md."""
        return build_uri(skill_file(self.path))

    def file_uri(self, file_path: str) -> str:
        """Return the URI of one of its files."""
        return build_uri((*self.path, *file_path.split("/")))


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the skills, by URI, and what to pass for those that follow, if any do."""

    skills: Sequence[PublishedSkill]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Resource:
    """What is said of something at a URI before it is read: a SKILL.md, another file, or a directory."""

    uri: str
    name: str
    media_type: str
    description: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes as they are served, and whether they are text."""

    resource: Resource
    content: bytes
    is_text: bool


@dataclass(frozen=True, slots=True)
class Publication:
    """What becomes of one skill: its URI, what was changed of it to publish it, or why it is withheld."""

    skill: Skill
    uri: str | None
    changes: Sequence[str] = ()
    withheld: str | None = None


@dataclass(frozen=True)
class _UriIndex:
    """The URIs of one snapshot. `listed` are those of `skills/list`, in its order; `longest` is of the segments."""

    snapshot: Snapshot
    skills: dict[UriPath, Skill]
    places: dict[str, UriPath]
    listed: list[UriPath]
    longest: int


class Publisher:
    """Publishes the skills of one hub. Safe to call from threads."""

    def __init__(self, hub: SkillHub, kept: EntryCache, *, serve_dotfiles: bool) -> None:
        self._hub = hub
        self._kept = kept
        self._serve_dotfiles = serve_dotfiles
        self._lock = threading.Lock()
        self._shelved: _UriIndex | None = None
        self._prepared: dict[UriPath, Skill] | None = None

    def page(self, cursor: str | None = None, *, limit: int = PAGE) -> Page:
        """Return the skills that follow `cursor`, by URI, at most `limit` of them.

        Left out, and still served: a skill that is not for models to choose, and one that another of its source has
        the name of. Raises InvalidArgument for a cursor that no page gave.
        """
        shelf, policy = self._present()
        at = 0 if cursor is None else bisect_right(shelf.listed, _from_cursor(cursor))
        found: list[PublishedSkill] = []
        while at < len(shelf.listed) and len(found) < limit:
            some = shelf.listed[at : at + limit - len(found)]
            at += len(some)
            offered = [path for path in some if policy.offers(shelf.skills[path])]
            found += [one for one in self._published(shelf, offered) if one.entry.withheld is None]
        # A cursor names what was shown: it must not tell of a skill that is none for whoever asks.
        more = any(policy.offers(shelf.skills[path]) for path in islice(shelf.listed, at, None))
        return Page(found, _to_cursor(found[-1].path) if more else None)

    def skill(self, uri: str) -> PublishedSkill:
        """Return the skill whose SKILL.md is at `uri`, listed or not. Raises ResourceNotFound."""
        shelf, policy = self._present()
        path, rest = self._find(shelf, policy, uri)
        if rest != (SKILL_FILE,):
            raise ResourceNotFound(uri, "is not the URI of a SKILL.md", hint="ask skills/list for those that are")
        return self._entered(shelf, path, uri)

    def content(self, uri: str, *, granted: Collection[Grant] = NOTHING_GRANTED) -> Content:
        """Return the file at `uri`, byte for byte as its entry says (SEP-2640, Reading Skill Content).

        Where the bytes are no longer what was kept of them, the entry is made anew first, so that whoever is refused by
        its own check of the digest gets the right one at the next question. Raises ResourceNotFound, and what
        `SkillHub.read_bytes` raises of permission.
        """
        shelf, policy = self._present()
        path, rest = self._find(shelf, policy, uri)
        if not rest:
            raise ResourceNotFound(uri, "is a directory", hint="ask resources/directory/read what it holds")
        file_path = "/".join(rest)
        published = self._with_file(shelf, path, file_path, uri)
        content = self._bytes(published, file_path, uri, granted)
        file = published_file(file_path, content)
        if published.entry.file(file_path) != file:
            published = self._made_anew(published, uri)
        resource = _resource(published, file)
        return Content(resource, content, file.is_text and not resource.media_type.startswith(_NEVER_TEXT))

    def digests(self, uris: Iterable[str]) -> dict[str, str | None]:
        """Return the digest of the file at each URI as it is now, or None where none is served to whoever asks.

        The skills are those that were last seen, and a URI has to be written as an entry has it. Asking is no reading:
        nobody hears of it. Raises PolicyUnreadable.
        """
        snapshot, policy = self._hub.present(as_last_seen=True)
        shelf = self._shelf(snapshot)
        places: dict[str, tuple[UriPath, UriPath] | None] = {}
        for uri in uris:
            try:
                path, rest = self._find(shelf, policy, uri)
                places[uri] = (path, rest) if uri == build_uri((*path, *rest)) else None
            except ResourceNotFound:
                places[uri] = None
        paths = list(dict.fromkeys(place[0] for place in places.values() if place is not None))
        entries = {one.path: one.entry for one in self._published(shelf, paths)}
        return {uri: None if place is None else _digest(entries[place[0]], place[1]) for uri, place in places.items()}

    def children(self, uri: str) -> Sequence[Resource]:
        """Return what lies directly in the directory at `uri`: a skill, or a directory of one.

        Raises ResourceNotFound for what is neither.
        """
        shelf, policy = self._present()
        path, rest = self._find(shelf, policy, uri)
        published = self._entered(shelf, path, uri)
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
            else Resource(published.file_uri(above + name), name, DIRECTORY)
            for name, file in sorted(names.items())
        ]

    def resources(self) -> Sequence[Resource]:
        """Return the SKILL.md of each listed skill, of the first thousand where there are more."""
        shelf, policy = self._present()
        offered = (path for path in shelf.listed if policy.offers(shelf.skills[path]))
        first = [path for path, _ in zip(offered, range(MAX_LISTED_RESOURCES), strict=False)]
        kept = self._kept.of([shelf.skills[path].directory for path in first])
        found = []
        for path in first:
            skill = shelf.skills[path]
            entry = kept.get(skill.directory)
            if entry is None:
                found.append(_skill_resource(path, skill.description))
            elif entry.withheld is None:
                found.append(_skill_resource(path, str(entry.frontmatter["description"])))
        return found

    def uri_paths(self) -> Sequence[str]:
        """Return where each skill that is offered stands among the URIs, as they have it behind their scheme."""
        shelf, policy = self._present()
        offered = (path for path, skill in shelf.skills.items() if policy.offers(skill))
        return [build_uri(path).removeprefix(SCHEME) for path in offered]

    def base_uri(self, skill: Skill) -> str | None:
        """Return the URI of a skill's directory, or None for one that is not published, as far as that is known yet."""
        path = self._shelf(self._hub.present()[0]).places.get(skill.directory)
        if path is None:
            return None
        entry = self._kept.of([skill.directory]).get(skill.directory)
        return None if entry is not None and entry.withheld is not None else build_uri(path)

    def publications(self) -> Iterator[Publication]:
        """Yield what becomes of every skill that this server offers, by its directory."""
        shelf, policy = self._present()
        for skill in shelf.snapshot.everything:
            if not policy.offers(skill):
                continue
            path = shelf.places.get(skill.directory)
            if path is None:
                yield Publication(skill, None, withheld=_NO_NAME)
                continue
            (published,) = self._published(shelf, [path])
            withheld = published.entry.withheld
            yield Publication(skill, None if withheld else published.uri, published.entry.changes, withheld)

    def prepare(self, *, stop: threading.Event | None = None) -> int:
        """Make the entries of skills that are new or other than they were kept, and return how many it made.

        So that nobody who asks has to wait for it. Entries of skills that are gone are forgotten.
        """
        shelf = self._shelf(self._hub.present()[0])
        before = self._prepared
        # What is unchanged since the last time is the same value.
        paths = [path for path, skill in shelf.skills.items() if before is None or before.get(path) is not skill]
        made = 0
        for first in range(0, len(paths), PAGE):
            some = paths[first : first + PAGE]
            kept = self._kept.of([shelf.skills[path].directory for path in some])
            wanted = [path for path in some if not _is_known(shelf.skills[path], path[-1], kept)]
            self._published(shelf, wanted)
            made += len(wanted)
            if stop is not None and stop.is_set():
                return made
        if before is None:
            # Whatever is kept of these roots; other servers keep theirs in the same file.
            roots = tuple(f"{root.path}/" for root in shelf.snapshot.report.roots)
            known = {directory for directory in self._kept.directories() if directory.startswith(roots)}
        else:
            known = {skill.directory for skill in before.values()}
        self._kept.forget(known - shelf.places.keys())
        self._prepared = shelf.skills
        return made

    def close(self) -> None:
        """Close what the entries are kept in."""
        self._kept.close()

    def _present(self) -> tuple[_UriIndex, Policy]:
        snapshot, policy = self._hub.present()
        return self._shelf(snapshot), policy

    def _shelf(self, snapshot: Snapshot) -> _UriIndex:
        with self._lock:
            shelf = self._shelved
            if shelf is None or shelf.snapshot is not snapshot:
                shelf = self._shelved = _shelved(snapshot)
            return shelf

    def _find(self, shelf: _UriIndex, policy: Policy, uri: str) -> tuple[UriPath, UriPath]:
        """Return the path of the skill that `uri` lies in, and what follows it."""
        segments = parse_uri(uri) or ()
        for length in range(2, min(len(segments), shelf.longest) + 1):
            skill = shelf.skills.get(segments[:length])
            if skill is not None and policy.offers(skill):
                return segments[:length], segments[length:]
        raise ResourceNotFound(uri, hint="ask skills/list for the URIs of skills")

    def _entered(self, shelf: _UriIndex, path: UriPath, uri: str) -> PublishedSkill:
        (published,) = self._published(shelf, [path])
        if published.entry.withheld is not None:
            raise ResourceNotFound(uri, f"is not served: {published.entry.withheld}")
        return published

    def _published(self, shelf: _UriIndex, paths: Sequence[UriPath]) -> list[PublishedSkill]:
        """Return the skills at `paths` as their files are now; only files that changed are read."""
        kept = self._kept.of([shelf.skills[path].directory for path in paths])
        found, changed = [], {}
        for path in paths:
            skill = shelf.skills[path]
            before = kept.get(skill.directory)
            entry = refresh_entry(skill.directory, path[-1], before, serve_dotfiles=self._serve_dotfiles)
            if entry is not before:
                changed[skill.directory] = entry
            found.append(PublishedSkill(path, skill, entry))
        self._kept.keep(changed)
        return found

    def _with_file(self, shelf: _UriIndex, path: UriPath, file_path: str, uri: str) -> PublishedSkill:
        """Return the skill at `path`, whose entry has a file at `file_path`."""
        skill = shelf.skills[path]
        entry = self._kept.of([skill.directory]).get(skill.directory)
        if entry is None or entry.name != path[-1] or entry.file(file_path) is None:
            entry = self._entered(shelf, path, uri).entry
        if entry.file(file_path) is None:
            raise ResourceNotFound(uri)
        return PublishedSkill(path, skill, entry)

    def _bytes(self, published: PublishedSkill, file_path: str, uri: str, granted: Collection[Grant]) -> bytes:
        """Return a file's bytes as they are published now."""
        try:
            content = self._hub.read_bytes(published.skill, file_path, max_bytes=MAX_BYTES, granted=granted)
        except (SkillFileNotFound, PathNotAllowed) as error:
            raise ResourceNotFound(uri, f"is not served: {error.message}") from error
        except (SkillNotFound, SkillDisabled) as error:
            # Only just, and from now on it is as unknown as any other.
            raise ResourceNotFound(uri) from error
        if file_path != SKILL_FILE:
            return content
        document = published_document(content, published.path[-1])
        if isinstance(document, Withheld):
            raise ResourceNotFound(uri, f"is not served: {document.reason}")
        return document.content

    def _made_anew(self, published: PublishedSkill, uri: str) -> PublishedSkill:
        """Read all of a skill's files again, whatever their stamps say."""
        skill = published.skill
        entry = refresh_entry(skill.directory, published.path[-1], None, serve_dotfiles=self._serve_dotfiles)
        self._kept.keep({skill.directory: entry})
        if entry.withheld is not None:
            raise ResourceNotFound(uri, f"is not served: {entry.withheld}")
        return PublishedSkill(published.path, skill, entry)


def _shelved(snapshot: Snapshot) -> _UriIndex:
    skills = skill_paths(snapshot)
    copies = {lost.skill.directory for lost in snapshot.report.shadowed if lost.why is ShadowReason.COPY}
    named = {
        skill.directory for source in {r.source for r in snapshot.report.roots} for skill in snapshot.by_source(source)
    }
    listed = [
        path
        for path, skill in skills.items()
        if skill.directory in named and skill.directory not in copies and not skill.disable_model_invocation
    ]
    places = {skill.directory: path for path, skill in skills.items()}
    return _UriIndex(snapshot, skills, places, listed, max(map(len, skills), default=0))


def _is_known(skill: Skill, name: str, kept: dict[str, PublishedEntry]) -> bool:
    """Whether the kept entry is of this SKILL.md; its other files are looked at when somebody asks."""
    entry = kept.get(skill.directory)
    stamp = None if entry is None else entry.stamps.get(SKILL_FILE)
    return entry is not None and entry.name == name and stamp is not None and stamp[0] == skill.stamp.mtime_ns


def _digest(entry: PublishedEntry, rest: UriPath) -> str | None:
    file = None if entry.withheld is not None else entry.file("/".join(rest))
    return None if file is None else file.digest


def _resource(published: PublishedSkill, file: PublishedFile) -> Resource:
    if file.path == SKILL_FILE:
        description = str(published.entry.frontmatter["description"])
        return Resource(published.uri, published.path[-1], _SKILL_FILE_TYPE, description, file.size)
    name = file.path.rpartition("/")[2]
    return Resource(published.file_uri(file.path), name, media_type(name, text=file.is_text), None, file.size)


def _skill_resource(path: UriPath, description: str) -> Resource:
    return Resource(build_uri(skill_file(path)), path[-1], _SKILL_FILE_TYPE, description)


def _to_cursor(path: UriPath) -> str:
    return base64.urlsafe_b64encode(build_uri(path).encode()).decode()


def _from_cursor(cursor: str) -> UriPath:
    try:
        path = parse_uri(base64.b64decode(cursor, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        path = None
    if path is None:
        raise InvalidArgument("cursor", "is not what an earlier page gave", hint="leave it out to begin anew")
    return path
