"""A replica: serves the newest publication from its mirror, and polls for another.

A caller gets one immutable view and uses it for its whole answer. Another publication replaces the view when all of it
is in the mirror. One thread polls; it starts from the mirror, and serves that while the storage fails.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from skillhub_mcp._util.atomic_write import atomic_write, replacing
from skillhub_mcp._util.file_modes import make_private_directory
from skillhub_mcp.errors import (
    IndexUnavailable,
    PublicationDamaged,
    PublicationMissing,
    SkillFilesUnavailable,
    StorageUnavailable,
)
from skillhub_mcp.events import NULL_OBSERVER, Observer, PublicationEvent, observe
from skillhub_mcp.index.lance import IndexDamaged, is_in
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.search_index import SearchIndex
from skillhub_mcp.index.state_file import LibraryKeys, TableVersionId, entry_from_json
from skillhub_mcp.index.statistics import counted
from skillhub_mcp.index.store import Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.index.views import FIRST_ANSWER_SECONDS, View, ViewSource
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot, Source
from skillhub_mcp.skills.scanner import ScanCache, scan_from_cache
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.tables import (
    CHUNK_BYTES,
    FILES,
    PUBLICATIONS,
    SKILLS,
    Publication,
    PublishedRow,
    StoredFile,
    StoredObject,
    Target,
    digest_of,
    publications,
    published_rows,
)

log = logging.getLogger(__name__)

# Replicas that were started together do not poll together.
_JITTER = 0.1
_KEPT = "publication.json"
_COPIES = "copies"
# Another process that shares the mirror may be writing what is not published here, or still serve it.
MIRRORED_SECONDS = 600.0
# As published: a digest of a skill has its bits for executing. No one else may enter the mirror.
_MODE, _EXECUTABLE_MODE, _DIRECTORY_MODE = 0o644, 0o755, 0o755


class Mirror:
    """A publication in a directory, complete or not. Methods raise OSError for what this machine's disk refuses.

    LanceDB's objects never change, so only new ones are fetched, and put in place whole: processes may share a mirror.
    The files of a skill become a directory when they are first needed, named by the digest of the skill's row.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._kept = os.path.join(directory, _KEPT)
        self._copies = os.path.join(directory, _COPIES)
        self._lock = threading.Lock()
        self._compared: set[str] = set()

    def publication(self) -> Publication | None:
        """Return the publication that was mirrored whole; None if there is none, or one of its objects is damaged."""
        try:
            with open(self._kept, "rb") as file:
                found = Publication.from_row(json.load(file))
            whole = all(self._is_whole(path, one) for path, one in found.objects.items())
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return found if whole and found.is_readable else None

    def fetch(self, target: Target, publication: Publication, progress: Callable[[int, int], None]) -> None:
        """Fetch the objects that are missing or damaged here. Raises StorageUnavailable and PublicationDamaged."""
        for done, (path, one) in enumerate(publication.objects.items(), 1):
            if not self._is_whole(path, one):
                self._fetch(target, path, one)
                progress(done, len(publication.objects))

    def keep(self, publication: Publication) -> None:
        """Record that the mirror has a publication whole."""
        atomic_write(self._kept, json.dumps(publication.as_row()).encode())

    def trim(self, objects: Collection[str], digests: Collection[str]) -> None:
        """Remove objects that are not among `objects`, and copies of skills with other digests, if they are old."""
        unused = [path for path in Path(self.directory).glob("*.lance/**/*") if path.is_file()]
        unused = [path for path in unused if path.relative_to(self.directory).as_posix() not in objects]
        unused += [path for path in Path(self._copies).glob("*") if path.name not in digests]
        for path in unused:
            if path.stat().st_mtime < time.time() - MIRRORED_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def files_of(self, skill: Skill, row: PublishedRow, table: TableVersion) -> str:
        """Return the directory with the files of a skill; `table` has the bytes. Raises SkillFilesUnavailable."""
        # Named as it was published: some rules compare a skill's name with its directory's.
        path = os.path.join(self._copies, row.digest, os.path.basename(skill.directory))
        with self._lock:
            if row.digest in self._compared and os.path.isdir(path):
                return path
            try:
                if not _is_copy(path, row.files):
                    condition = is_in("sha256", sorted({file.sha256 for file in row.files}))
                    read = table.read(["sha256", "content"], condition).to_pylist()
                    self._copy(path, {one["sha256"]: one["content"] for one in read}, row.files)
            except (IndexDamaged, OSError) as error:
                log.warning("The files of %r cannot be read from the mirror: %s", skill.name, error)
                raise SkillFilesUnavailable(skill.name, "the mirror cannot be used") from error
            self._compared.add(row.digest)
        return path

    def _copy(self, path: str, contents: Mapping[str, bytes], files: Sequence[StoredFile]) -> None:
        make_private_directory(self._copies)
        final = os.path.dirname(path)
        with tempfile.TemporaryDirectory(dir=self._copies, prefix=".made-") as made:
            top = os.path.join(made, os.path.basename(final), os.path.basename(path))
            os.makedirs(top)
            for file in files:
                content = contents.get(file.sha256, b"")
                if digest_of([content]) != file.sha256:
                    raise IndexDamaged(f"{file.path} is not what was published")
                place = os.path.join(top, *file.path.split("/"))
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "xb") as copy:
                    copy.write(content)
                os.chmod(place, _EXECUTABLE_MODE if file.executable else _MODE)
            for directory, _, _ in os.walk(top):
                os.chmod(directory, _DIRECTORY_MODE)
            try:
                os.rename(os.path.dirname(top), final)
            except OSError:
                # Of a process that shares the mirror, or damaged.
                if not _is_copy(path, files):
                    shutil.rmtree(final)
                    os.rename(os.path.dirname(top), final)

    def _is_whole(self, path: str, one: StoredObject) -> bool:
        place = os.path.join(self.directory, path)
        try:
            return os.stat(place).st_size == one.size and _digest(place) == one.sha256
        except FileNotFoundError:
            return False

    def _fetch(self, target: Target, path: str, one: StoredObject) -> None:
        place = os.path.join(self.directory, path)
        make_private_directory(os.path.dirname(place))
        try:
            with replacing(place) as file:
                for chunk in target.chunks(path):
                    file.write(chunk)
                file.seek(0)
                if digest_of(iter(lambda: file.read(CHUNK_BYTES), b"")) != one.sha256:
                    raise PublicationDamaged(target.name, path, "is not what was published")
        except FileNotFoundError as error:
            raise PublicationDamaged(target.name, path, "is missing") from error


# Whether the storage answers; "starting" before it was asked.
StorageState = Literal["starting", "ok", "failing"]


@dataclass(frozen=True, slots=True)
class PublicationHealth:
    """The number of the publication that is served, 0 for none, and the state of the storage.

    `since` is when the state began and `checked_at` when the storage last answered (0: never), in seconds since 1970.
    """

    number: int = 0
    storage: StorageState = "starting"
    since: float = 0.0
    checked_at: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class _Served:
    """A publication that is served: what was read of each SKILL.md, its rows, and its files."""

    publication: Publication
    entries: ScanCache
    rows: Mapping[str, PublishedRow]
    files: TableVersion

    def snapshot(self, admission: Admission) -> Snapshot:
        """Return the skills that an admission lets in."""
        roots = tuple(
            SkillRoot(label, label, Source(source), number)
            for number, (label, source) in enumerate(self.publication.roots.items(), start=1)
        )
        return scan_from_cache(roots, memory=self.entries, admission=admission)


class Replica(ViewSource):
    """The snapshot and the index of a publication.

    The storage is polled every `refresh_seconds`; `embedding` is the identity of the embedder of queries. Without
    `background` one poll, when it is first needed, answers all queries.
    """

    def __init__(
        self,
        target: Target,
        mirror: Mirror,
        *,
        embedding: str,
        refresh_seconds: float = 30.0,
        admission: Admission = LENIENT,
        background: bool = True,
        observer: Observer = NULL_OBSERVER,
        progress: IndexProgress | None = None,
    ) -> None:
        super().__init__({"replica": self._run}, background=background, progress=progress, observer=observer)
        self._target = target
        self._mirror = mirror
        self._embedding = embedding
        self._refresh_seconds = refresh_seconds
        self._admission = admission
        # Two polls must not overlap.
        self._poll_lock = threading.Lock()
        self._served: _Served | None = None
        # Which publication is served, and the state of the storage.
        self.health = PublicationHealth(since=time.time())
        # What the storage listed at the last poll; None if the mirror has to be compared in any case.
        self._seen: Mapping[str, int] | None = None

    # What the hub asks

    def snapshot(self, *, fresh: bool = False, admission: Admission | None = None) -> Snapshot:
        del fresh
        view, served = self._wait(), self._served
        return view.snapshot if admission is None or served is None else served.snapshot(admission)

    def view(self, *, instead_of: SearchIndex | None = None) -> tuple[View, SearchIndex]:
        view = self._wait()
        if view.index is instead_of:
            self._poll(check=True)
            view = self._required()
        if view.index is None or view.index is instead_of:
            raise self._failure or self._not_built_yet()
        return view, view.index

    def sync(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        del only, waiting
        if depth is SyncDepth.REBUILD:
            message = "A replica writes no index: it serves what was published"
            raise IndexUnavailable(message, hint="run skillhub publish where the skills are")
        self._poll(check=depth is SyncDepth.VERIFY)
        return self._required()

    # What is particular to a replica

    def files_of(self, skill: Skill) -> str:
        """Return the directory with the files of a skill, as it was published. Raises SkillFilesUnavailable."""
        served = self._served
        if served is None or skill.directory not in served.rows:
            raise SkillFilesUnavailable(skill.name, "it is no longer published")
        try:
            return self._mirror.files_of(skill, served.rows[skill.directory], served.files)
        except SkillFilesUnavailable:
            self._seen = None
            raise

    # Waiting

    def _wait(self) -> View:
        if self._background:
            self.start()
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._failure or self._view, FIRST_ANSWER_SECONDS)
        elif self._view is None:
            self._start_from_mirror()
            self._poll()
        return self._required()

    # Polling

    def _run(self) -> None:
        self._start_from_mirror()
        while not self._closed:
            self._poll()
            with self._condition:
                rest = self._refresh_seconds * (1.0 - _JITTER * random.random())  # noqa: S311 - no secret
                self._condition.wait_for(lambda: self._closed, rest)

    def _start_from_mirror(self) -> None:
        with self._poll_lock:
            try:
                found = self._mirror.publication()
                if found is not None:
                    self._serve(found)
            except (OSError, IndexDamaged, ValueError, LookupError, TypeError) as error:
                log.info("The mirror is not used: %s", error)

    def _poll(self, *, check: bool = False) -> None:
        with self._poll_lock, observe(self._observer, PublicationEvent()) as event:
            problem, hint = "", "call again in a while"
            try:
                event.changed = self._follow(check)
            except (StorageUnavailable, PublicationMissing, PublicationDamaged) as error:
                # Where the publication is stored is not for callers.
                problem = error.message.replace(self._target.name, "the storage")
                hint = (error.hint or "").replace(self._target.name, "TARGET")
            except (IndexDamaged, OSError) as error:
                # Its path is not for callers either.
                log.info("The mirror cannot be used: %s", error)
                problem = "the mirror cannot be used"
            except Exception:  # the top of a thread: it is logged, and the last view stays in use
                log.exception("Polling for another publication failed unexpectedly; the last one stays in use")
                problem = "the server's log says why"
            self._record(problem, hint)
            event.snapshot = self.health.number
        self.progress.finish()

    def _follow(self, check: bool) -> bool:
        """Serve the newest publication; return whether it is another one."""
        seen = self._target.list(PUBLICATIONS + ".lance")
        served = self._served
        if seen == self._seen and served is not None and not check:
            return False
        newest = publications(self._target)[0]
        newest.check_readable(self._target)
        self._mirror.fetch(self._target, newest, lambda *counts: self.progress.report("fetching", *counts))
        changed = served is None or served.publication.created_at != newest.created_at
        if changed or check:
            self._serve(newest)
            self._mirror.keep(newest)
        self._seen = seen
        return changed

    def _record(self, problem: str, hint: str) -> None:
        """Record the outcome of a poll, and log a change of state."""
        before, now = self.health, time.time()
        state: StorageState = "failing" if problem else "ok"
        since = before.since if before.storage == state else now
        if problem and before.storage != state and (before.number or self._background):
            serves = f"publication {before.number} is served from the mirror" if before.number else "nothing is served"
            log.warning("The storage of the publication fails, %s: %s; %s", serves, problem, hint)
        elif not problem and before.storage == "failing":
            log.info("The storage of the publication answers again, after %d seconds", now - before.since)
        with self._condition:
            checked_at = before.checked_at if problem else now
            self.health = PublicationHealth(before.number, state, since, checked_at, problem)
            self._failure = (
                IndexUnavailable(f"The publication cannot be read: {problem}", hint=hint) if problem else None
            )
            self._condition.notify_all()

    def _serve(self, publication: Publication) -> None:
        """Open a publication in the mirror, and serve it. Raises IndexDamaged."""
        table = Store(self._mirror.directory, SKILLS).open(publication.skills_version, created_as=publication.table_id)
        entries = {
            row["path"]: entry_from_json(json.loads(row["entry"]), directory=row["path"], root=row["root"])
            for row in table.read(["path", "root", "entry"]).to_pylist()
        }
        files = Store(self._mirror.directory, FILES).open(publication.files_version)
        served = _Served(publication, entries, published_rows(table), files)
        labels = list(publication.roots)
        has_vectors = publication.embedding == self._embedding and table.dimension is not None
        index = SearchIndex(
            TableVersionId(publication.table_id, publication.skills_version),
            LibraryKeys({label: label for label in labels}),
            lambda: (table, counted(terms for label in labels for terms in table.counted_of(label))),
            unembedded=len(table.without_vector("true")) if has_vectors else None,
        )
        view = View(served.snapshot(self._admission), index)
        with self._condition:
            self._view, self._served = view, served
            self.health = replace(self.health, number=publication.number)
            self._condition.notify_all()
        try:
            self._mirror.trim(publication.objects, {row.digest for row in served.rows.values()})
        except OSError as error:
            log.warning("The mirror cannot be tidied: %s", error.strerror or error)
        skills = view.snapshot.everything
        log.info("Serving publication %s: %s skills", publication.number, f"{len(skills):,}")
        self._announce(skills)
        self.progress.finish()


def _is_copy(path: str, files: Sequence[StoredFile]) -> bool:
    """Whether a directory has each of the files, as published, and nothing else."""
    wanted = {os.path.join(path, *file.path.split("/")): file.sha256 for file in files}
    there = {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}
    return there == wanted.keys() and all(_digest(place) == digest for place, digest in wanted.items())


def _digest(place: str) -> str:
    with open(place, "rb") as file:
        return digest_of(iter(lambda: file.read(CHUNK_BYTES), b""))
