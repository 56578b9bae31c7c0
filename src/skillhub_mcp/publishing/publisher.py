"""Which skills does a host get that reads them natively, and what of each? Everything is answered from what is kept.

What a server does not offer, by filter, choice or rule, is not there at all: its URI is as unknown as any other's.
"""

from __future__ import annotations

import base64
import binascii
import logging
import threading
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from skillhub_mcp.errors import InvalidArgument, ResourceNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import NOTHING_GRANTED, Grant, Policy
from skillhub_mcp.publishing.adapting import Withheld, published_document
from skillhub_mcp.publishing.entries import MAX_BYTES, Entry, entry_of, published_file
from skillhub_mcp.publishing.kept import KeptEntries
from skillhub_mcp.publishing.uris import Path, segments_of, skill_file, skill_paths, uri_of
from skillhub_mcp.skills.files import media_type
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.snapshot import Settled, Snapshot

log = logging.getLogger(__name__)

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

    path: Path
    skill: Skill
    entry: Entry

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md."""
        return uri_of(skill_file(self.path))

    def file_uri(self, file_path: str) -> str:
        """Return the URI of one of its files."""
        return uri_of((*self.path, *file_path.split("/")))


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
class Standing:
    """What becomes of one skill: its URI, what was changed of it to publish it, or why it is withheld."""

    skill: Skill
    uri: str | None
    changes: Sequence[str] = ()
    withheld: str | None = None


@dataclass(frozen=True)
class _Shelf:
    """The URIs of one snapshot. `listed` are those of `skills/list`, in its order."""

    snapshot: Snapshot
    skills: dict[Path, Skill]
    places: dict[str, Path]
    listed: list[Path]


class Publisher:
    """Publishes the skills of one hub. Safe to call from threads."""

    def __init__(self, hub: SkillHub, kept: KeptEntries, *, serve_dotfiles: bool) -> None:
        self._hub = hub
        self._kept = kept
        self._serve_dotfiles = serve_dotfiles
        self._lock = threading.Lock()
        self._shelved: _Shelf | None = None

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
        more = at < len(shelf.listed)
        return Page(found, _to_cursor(shelf.listed[at - 1]) if more else None)

    def skill(self, uri: str) -> PublishedSkill:
        """Return the skill whose SKILL.md is at `uri`, listed or not. Raises ResourceNotFound."""
        shelf, policy = self._present()
        path, rest = self._find(shelf, policy, uri)
        if rest != (SKILL_FILE,):
            raise ResourceNotFound(uri, "is not the URI of a SKILL.md", hint="skills/list has those that are")
        return self._entered(shelf, path, uri)

    def content(self, uri: str, *, granted: Collection[Grant] = NOTHING_GRANTED) -> Content:
        """Return the file at `uri`, byte for byte as its entry says (SEP-2640, Reading Skill Content).

        Where the bytes are no longer what was kept of them, the entry is made anew first, so that whoever is refused by
        its own check of the digest gets the right one at the next question. Raises ResourceNotFound, and what
        `SkillHub.read_bytes` raises.
        """
        shelf, policy = self._present()
        path, rest = self._find(shelf, policy, uri)
        if not rest:
            raise ResourceNotFound(uri, "is a directory", hint="ask resources/directory/read what it holds")
        skill, file_path = shelf.skills[path], "/".join(rest)
        content = self._hub.read_bytes(skill, file_path, max_bytes=MAX_BYTES, granted=granted)
        if file_path == SKILL_FILE:
            document = published_document(content, path[-1])
            if isinstance(document, Withheld):
                raise ResourceNotFound(uri, f"is not served: {document.reason}")
            content = document.content
        entry = self._kept.of([skill.directory]).get(skill.directory)
        now = published_file(file_path, content)
        if entry is None or entry.name != path[-1] or entry.file(file_path) != now:
            entry = self._made_anew(skill, path[-1])
        if entry.withheld is not None:
            raise ResourceNotFound(uri, f"is not served: {entry.withheld}")
        if entry.file(file_path) is None:
            raise ResourceNotFound(uri)
        published = PublishedSkill(path, skill, entry)
        text = _is_text(content)
        resource = _resource(published, file_path, text=text)
        return Content(resource, content, text and not resource.media_type.startswith(_NEVER_TEXT))

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
                uri, "is not a directory" if published.entry.file("/".join(rest)) else "is not there"
            )
        names = {file.path[len(above) :].partition("/")[0]: file for file in inside}
        found = []
        for name, file in sorted(names.items()):
            if file.path == above + name:
                found.append(_resource(published, file.path))
            else:
                found.append(Resource(published.file_uri(above + name), name, DIRECTORY))
        return found

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

    def base_uri(self, skill: Skill) -> str | None:
        """Return the URI of a skill's directory, or None for one without a name that hosts take."""
        path = self._shelf(self._hub.present()[0]).places.get(skill.directory)
        return None if path is None else uri_of(path)

    def standings(self) -> Iterator[Standing]:
        """Yield what becomes of every skill that this server offers, by name."""
        shelf, policy = self._present()
        for skill in shelf.snapshot.everything:
            if not policy.offers(skill):
                continue
            path = shelf.places.get(skill.directory)
            if path is None:
                yield Standing(
                    skill, None, withheld="its name has no form in a-z, 0-9 and hyphens, nor has its directory"
                )
                continue
            (published,) = self._published(shelf, [path])
            withheld = published.entry.withheld
            yield Standing(skill, None if withheld else published.uri, published.entry.changes, withheld)

    def prepare(self, *, stop: threading.Event | None = None) -> int:
        """Make the entries of skills that are new or other than they were kept, and return how many it made.

        So that nobody who asks has to wait for it. Entries of skills that are gone are forgotten.
        """
        shelf = self._shelf(self._hub.present()[0])
        made = 0
        paths = list(shelf.skills)
        for first in range(0, len(paths), PAGE):
            some = paths[first : first + PAGE]
            kept = self._kept.of([shelf.skills[path].directory for path in some])
            wanted = [path for path in some if not _is_known(shelf.skills[path], path[-1], kept)]
            self._published(shelf, wanted)
            made += len(wanted)
            if stop is not None and stop.is_set():
                return made
        roots = tuple(f"{root.path}/" for root in shelf.snapshot.report.roots)
        gone = self._kept.directories() - shelf.places.keys()
        self._kept.forget(directory for directory in gone if directory.startswith(roots))
        return made

    def close(self) -> None:
        """Close what the entries are kept in."""
        self._kept.close()

    def _present(self) -> tuple[_Shelf, Policy]:
        snapshot, policy = self._hub.present()
        return self._shelf(snapshot), policy

    def _shelf(self, snapshot: Snapshot) -> _Shelf:
        with self._lock:
            shelf = self._shelved
            if shelf is None or shelf.snapshot is not snapshot:
                shelf = self._shelved = _shelved(snapshot)
            return shelf

    def _find(self, shelf: _Shelf, policy: Policy, uri: str) -> tuple[Path, Path]:
        """Return the path of the skill that `uri` lies in, and what follows it."""
        segments = segments_of(uri) or ()
        for length in range(2, len(segments) + 1):
            skill = shelf.skills.get(segments[:length])
            if skill is not None and policy.offers(skill):
                return segments[:length], segments[length:]
        raise ResourceNotFound(uri, hint="skills/list has the URIs of the skills that are")

    def _entered(self, shelf: _Shelf, path: Path, uri: str) -> PublishedSkill:
        (published,) = self._published(shelf, [path])
        if published.entry.withheld is not None:
            raise ResourceNotFound(uri, f"is not served: {published.entry.withheld}")
        return published

    def _published(self, shelf: _Shelf, paths: Sequence[Path]) -> list[PublishedSkill]:
        """Return the skills at `paths` as their files are now; only files that changed are read."""
        kept = self._kept.of([shelf.skills[path].directory for path in paths])
        found, changed = [], {}
        for path in paths:
            skill = shelf.skills[path]
            before = kept.get(skill.directory)
            entry = entry_of(skill.directory, path[-1], before, serve_dotfiles=self._serve_dotfiles)
            if entry is not before:
                changed[skill.directory] = entry
            found.append(PublishedSkill(path, skill, entry))
        self._kept.keep(changed)
        return found

    def _made_anew(self, skill: Skill, name: str) -> Entry:
        entry = entry_of(skill.directory, name, None, serve_dotfiles=self._serve_dotfiles)
        self._kept.keep({skill.directory: entry})
        return entry


def _shelved(snapshot: Snapshot) -> _Shelf:
    skills = skill_paths(snapshot)
    copies = {lost.skill.directory for lost in snapshot.report.shadowed if lost.why is Settled.COPY}
    named = {skill.directory for source in {r.source for r in snapshot.report.roots} for skill in snapshot.of(source)}
    listed = [
        path
        for path, skill in skills.items()
        if skill.directory in named and skill.directory not in copies and not skill.disable_model_invocation
    ]
    return _Shelf(snapshot, skills, {skill.directory: path for path, skill in skills.items()}, listed)


def _is_known(skill: Skill, name: str, kept: dict[str, Entry]) -> bool:
    """Whether the kept entry is of this SKILL.md; its other files are looked at when somebody asks."""
    entry = kept.get(skill.directory)
    stamp = None if entry is None else entry.stamps.get(SKILL_FILE)
    return entry is not None and entry.name == name and stamp is not None and stamp[0] == skill.stamp.mtime_ns


def _resource(published: PublishedSkill, file_path: str, *, text: bool = True) -> Resource:
    file = published.entry.file(file_path)
    size = None if file is None else file.size
    if file_path == SKILL_FILE:
        description = str(published.entry.frontmatter["description"])
        return Resource(published.uri, published.path[-1], _SKILL_FILE_TYPE, description, size)
    name = file_path.rpartition("/")[2]
    return Resource(published.file_uri(file_path), name, media_type(name, text=text), None, size)


def _skill_resource(path: Path, description: str) -> Resource:
    return Resource(uri_of(skill_file(path)), path[-1], _SKILL_FILE_TYPE, description)


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _to_cursor(path: Path) -> str:
    return base64.urlsafe_b64encode(uri_of(path).encode()).decode()


def _from_cursor(cursor: str) -> Path:
    try:
        path = segments_of(base64.b64decode(cursor, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        path = None
    if path is None:
        raise InvalidArgument("cursor", "is not what an earlier page gave", hint="leave it out to begin anew")
    return path
