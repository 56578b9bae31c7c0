"""A replica: serves the newest publication from its mirror, and looks for another now and then.

1. A caller gets one immutable view and uses it for its whole answer. Another publication replaces the view when all of
   it is in the mirror, so that a caller sees the old one or the new one.
2. One thread looks. It starts from the mirror where there is one, and serves that as long as the storage fails.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from skillhub_mcp.errors import (
    IndexUnavailable,
    PublicationDamaged,
    PublicationMissing,
    SkillFilesUnavailable,
    SkillHubError,
    StorageUnavailable,
)
from skillhub_mcp.events import NULL_OBSERVER, LibraryEvent, Observer, PublicationEvent, observe
from skillhub_mcp.index.connection import connect, run
from skillhub_mcp.index.failures import IndexDamaged
from skillhub_mcp.index.keys import LibraryKeys
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.search_index import IndexContents, SearchIndex
from skillhub_mcp.index.state_file import TableVersionId, entry_from_json
from skillhub_mcp.index.statistics import RootStatistics, Statistics, counted, statistics_name, summed
from skillhub_mcp.index.store import Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.index.views import SyncDepth, View
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SOURCES, SkillRoot, Source
from skillhub_mcp.skills.scanner import ScanCache, scan_from_cache
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.mirror import Mirror
from skillhub_mcp.store.records import Publication, digest_of
from skillhub_mcp.store.skill_files import SkillCopies
from skillhub_mcp.store.tables import PublicationTables, PublishedRow, published_rows, stored_digests
from skillhub_mcp.store.targets import FILES, OLD_POINTER, PUBLICATIONS, SKILLS, Target

log = logging.getLogger(__name__)

FIRST_ANSWER_SECONDS = 120.0
_CLOSE_SECONDS = 2.0
# How long a caller waits who found nothing by a name, which may have been published a moment ago.
_LOOK_AGAIN_SECONDS = 1.0
# After failures the next looks come later, up to so many times the usual interval, and at most a minute beyond it.
_LONGEST_REST_FACTOR = 4
_LONGEST_REST_SECONDS = 60.0
# Replicas that were started together do not look together.
_JITTER = 0.1


class StorageState(str, Enum):
    """How the storage does: STARTING before it was asked, FAILING where it fails."""

    STARTING = "starting"
    OK = "ok"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class PublicationHealth:
    """The number of the publication that is served, 0 where there is none, and how the storage does.

    `since` is when the state began and `checked_at` when the storage last answered as it should, 0 for never, both in
    seconds since 1970. `problem` is why the storage fails, and names no path and no address.
    """

    number: int = 0
    storage: StorageState = StorageState.STARTING
    since: float = 0.0
    checked_at: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """The storage is asked every `refresh_seconds`; `embedding` is the identity of the embedder that queries have."""

    refresh_seconds: float = 30.0
    embedding: str = ""
    admission: Admission = LENIENT


@dataclass(frozen=True)
class _Served:
    """A publication that is served: its view, what was read of each SKILL.md, its rows, and its table of files."""

    publication: Publication
    view: View
    entries: ScanCache
    rows: Mapping[str, PublishedRow]
    files: Any


class Replica:
    """The snapshot and the index of a publication, for whoever searches and reads. See `index.views.ViewSource`.

    Without `background` there is no thread: one look, made when it is first needed, answers all queries; it asks the
    storage only if nobody has done so for `refresh_seconds`. Safe to use from several threads.
    """

    def __init__(
        self,
        target: Target,
        mirror: Mirror,
        options: ReplicaOptions,
        *,
        background: bool = True,
        observer: Observer = NULL_OBSERVER,
        progress: IndexProgress | None = None,
    ) -> None:
        self.progress = progress or IndexProgress()
        self._target = target
        self._mirror = mirror
        self._options = options
        self._background = background
        self._observer = observer
        self._copies = SkillCopies(mirror.directory)
        self._condition = threading.Condition()
        # Two looks must not overlap.
        self._look_lock = threading.Lock()
        self._served: _Served | None = None
        self._former: _Served | None = None
        self._view: View | None = None
        self._health = PublicationHealth(since=time.time())
        # What the storage listed when it was last asked, and whether the mirror has to be read whole.
        self._seen: Mapping[str, int] | None = None
        self._suspect = True
        self._failure: IndexUnavailable | None = None
        self._failures = 0
        self._looks = 0
        self._requested = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._listeners: list[Callable[[bool], None]] = []

    # What the hub asks

    def start(self) -> None:
        """Begin in the background. See `ViewSource`."""
        with self._condition:
            if self._background and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="skillhub-replica", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self.progress.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def peek(self) -> View | None:
        """Return the present view. See `ViewSource`."""
        return self._view

    def snapshot(self, *, fresh: bool = False, admission: Admission | None = None) -> Snapshot:
        """Return the present skills; with `fresh`, after asking the storage if that does not fail. See `ViewSource`."""
        if fresh:
            self._look_again()
        snapshot, served = self._wait(lambda _: True).snapshot, self._served
        return snapshot if admission is None or served is None else _snapshot(served, admission)

    def view(self, *, instead_of: SearchIndex | None = None) -> tuple[View, SearchIndex]:
        """Return a view and its index. See `ViewSource`."""
        if instead_of is not None:
            self._discard(instead_of)
        view = self._wait(lambda one: one.is_settled)
        if view.index is None:
            raise view.problem or _not_there_yet()
        return view, view.index

    def is_ready(self) -> bool:
        """Whether a search would be answered, or fail, at once. See `ViewSource`."""
        view = self._view
        return not self._background or self._failure is not None or (view is not None and view.is_settled)

    def sync(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Ask the storage in the caller's thread, and return the view. Raises IndexUnavailable."""
        del only, waiting
        if depth is SyncDepth.REBUILD:
            raise IndexUnavailable(
                "A replica writes no index: it serves what was published",
                hint="run skillhub publish where the skills are",
            )
        self._suspect = self._suspect or depth is SyncDepth.VERIFY
        self._look_once()
        return self._required()

    def subscribe(self, listener: Callable[[bool], None]) -> None:
        """Call `listener` when another publication is served. See `ViewSource`."""
        self._listeners.append(listener)

    # What is particular to a replica

    def files_of(self, skill: Skill) -> str:
        """Return the directory with the files of a skill, as it was published. Raises SkillFilesUnavailable."""
        several = [one for one in (self._served, self._former) if one is not None]
        for one in several:
            entry = one.entries.get(skill.directory)
            if entry is not None and (entry.skill == skill or one is several[-1]):
                try:
                    return self._copies.directory(skill, one.rows[skill.directory], one.files)
                except SkillFilesUnavailable:
                    with self._condition:
                        self._suspect = self._requested = True
                        self._condition.notify_all()
                    raise
        raise SkillFilesUnavailable(skill.name, "it is no longer published")

    def health(self) -> PublicationHealth:
        """Return which publication is served, and how the storage does."""
        return self._health

    # Waiting

    def _wait(self, enough: Callable[[View], bool]) -> View:
        if not self._background:
            if self._view is None or not enough(self._view):
                self._start_from_mirror()
                if self._view is None or time.time() - self._mirror.checked_at > self._options.refresh_seconds:
                    self._look_once()
            return self._required()
        self.start()
        with self._condition:
            self._condition.wait_for(lambda: self._is_settled(enough), FIRST_ANSWER_SECONDS)
        return self._required()

    def _is_settled(self, enough: Callable[[View], bool]) -> bool:
        view = self._view
        return self._closed or (self._failure is not None if view is None else enough(view))

    def _required(self) -> View:
        view = self._view
        if view is None:
            raise self._failure or _not_there_yet()
        return view

    def _look_again(self) -> None:
        """Have the storage asked now; wait for it, but not for long, and not for a storage that fails."""
        if self._thread is None or self._health.storage is StorageState.FAILING:
            return
        with self._condition:
            looks, self._requested = self._looks, True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._closed or self._looks > looks, _LOOK_AGAIN_SECONDS)

    def _discard(self, failed: SearchIndex) -> None:
        """Drop an index that could not be read; the next query waits for its replacement."""
        with self._condition:
            if self._view is not None and self._view.index is failed:
                self._suspect = True
                self._view = replace(self._view, index=None, problem=None)
            self._requested = True
            self._condition.notify_all()

    # Looking

    def _run(self) -> None:
        self._start_from_mirror()
        while True:
            self._look_once()
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._requested, self._rest())
                self._requested = False
                if self._closed:
                    return

    def _rest(self) -> float:
        """Return how many seconds to wait for the next look: more after failures, and never the same."""
        usual = self._options.refresh_seconds
        longest = max(usual, min(usual * _LONGEST_REST_FACTOR, usual + _LONGEST_REST_SECONDS))
        rest = usual if not self._failures else min(usual * 2 ** min(self._failures - 1, 8), longest)
        return rest * (1.0 - _JITTER * random.random())  # noqa: S311 - no secret

    def _start_from_mirror(self) -> None:
        """Serve what is in the mirror, if a whole publication is."""
        with self._look_lock:
            try:
                found = self._mirror.publication()
                if found is not None:
                    self._serve(found)
                    self._suspect = False
            except (OSError, IndexDamaged, PublicationDamaged) as error:
                log.info("The mirror is not used: %s", error)

    def _look_once(self) -> None:
        with self._look_lock, observe(self._observer, PublicationEvent()) as event:
            try:
                event.changed = self._follow()
                self._failure, self._failures = None, 0
                self._become(StorageState.OK, "")
            except (StorageUnavailable, PublicationMissing) as error:
                self._fail(_in_short(error))
            except PublicationDamaged as error:
                self._fail(_in_short(error), hint=error.hint or "")
            except IndexDamaged as error:
                log.info("The mirror cannot be searched: %s", error)
                self._fail("the mirror cannot be searched")
            except OSError as error:
                self._fail(f"the mirror: {error.strerror or error}")
            except Exception:  # the top of a thread: it is logged, and the last view stays in use
                log.exception("Looking for another publication failed unexpectedly; the last one stays in use")
                self._fail("the server's log says why")
            event.snapshot = self._health.number
        with self._condition:
            self._looks += 1
            self._condition.notify_all()
        self.progress.finish()

    def _follow(self) -> bool:
        """Serve the newest publication; return whether it is another one."""
        # One request, and it names what refuses it better than LanceDB does.
        seen = self._target.objects.list(f"{PUBLICATIONS}.lance/_versions")
        served = self._served
        if seen == self._seen and served is not None and not self._suspect:
            self._mirror.note_checked()
            return False
        newest = PublicationTables(self._target).newest() if seen else None
        if newest is None:
            raise _nothing_at(self._target)
        if newest.is_newer:
            hint = "update skillhub on this server"
            raise PublicationDamaged(
                self._target.name, f"publication {newest.number}", "was written by a newer SkillHub", hint=hint
            )
        changed = served is None or not served.publication.is_same(newest)
        if changed or self._suspect:
            # A caller may find damage meanwhile, which is for the next look.
            check, self._suspect = self._suspect, False
            try:
                found = self._mirror.fetch(self._target, newest, check=check, progress=self._fetched)
                self._serve(found, check=check or len(found.objects) < len(newest.objects))
                self._mirror.keep(found)
            except BaseException:
                self._suspect = True
                raise
        self._mirror.note_checked()
        self._seen = seen
        return changed

    def _fetched(self, done: int, total: int) -> None:
        self.progress.report("fetching", done, total)

    def _fail(self, reason: str, *, hint: str = "") -> None:
        self._failures += 1
        self._become(StorageState.FAILING, reason, hint=hint)
        # Where the publication lies is not for callers.
        hint = hint.replace(self._target.name, "TARGET") or "call again in a while"
        failure = IndexUnavailable(f"The publication cannot be read: {reason}", hint=hint)
        with self._condition:
            self._failure = failure
            if self._view is not None and self._view.index is None:
                self._view = replace(self._view, problem=failure)
            self._condition.notify_all()

    def _become(self, state: StorageState, problem: str, *, hint: str = "") -> None:
        before, now = self._health, time.time()
        since = before.since if before.storage is state else now
        checked_at = now if state is StorageState.OK else before.checked_at
        self._health = PublicationHealth(before.number, state, since, checked_at, problem)
        if state is StorageState.FAILING and before.storage is not state and (before.number or self._background):
            serves = (
                f"publication {before.number} is served from the mirror" if before.number else "nothing is served yet"
            )
            told = f"{problem}; {hint}" if hint else problem
            log.warning("The storage of the publication fails, %s: %s", serves, told)
        elif state is StorageState.OK and before.storage is StorageState.FAILING:
            log.info("The storage of the publication answers again, after %d seconds", now - before.since)

    # Serving

    def _serve(self, publication: Publication, *, check: bool = False) -> None:
        before = self._served
        served = _opened(self._mirror.directory, publication, self._options, check=check)
        if before is not None and before.publication.number != publication.number:
            self._former = before
        with self._condition:
            self._served, self._view = served, served.view
            self._health = replace(self._health, number=publication.number)
            self._condition.notify_all()
        self._trim()
        skills = len(served.view.snapshot.everything)
        log.info("Serving publication %s: %s skills", publication.number, f"{skills:,}")
        if before is None or len(before.view.snapshot.everything) != skills:
            self._observer.start(LibraryEvent(skills=skills))()
        is_other = before is not None and before.view.snapshot.everything != served.view.snapshot.everything
        for listener in self._listeners:
            listener(is_other)
        self.progress.finish()

    def _trim(self) -> None:
        used = [one for one in (self._served, self._former) if one is not None]
        try:
            self._mirror.trim({path for one in used for path in one.publication.objects})
            self._copies.trim({row.digest for one in used for row in one.rows.values()})
        except OSError as error:
            log.warning("The mirror cannot be tidied: %s", error.strerror or error)


def _opened(directory: str, publication: Publication, options: ReplicaOptions, *, check: bool) -> _Served:
    """Open a publication in a mirror. Raises IndexDamaged, and PublicationDamaged for what was not published so."""
    store = Store(directory, SKILLS)
    table = store.open(publication.skills_version, created_as=publication.table_id)
    rows = published_rows(table)
    if digest_of((key, row.digest) for key, row in rows.items()) != publication.digest:
        raise PublicationDamaged("the publication", f"the table {SKILLS!r}", "is not what was published")
    files = run(_files(directory, publication.files_version))
    if check:
        table.check()
        if not {file.sha256 for row in rows.values() for file in row.files} <= run(stored_digests(files)):
            raise PublicationDamaged("the publication", f"the table {FILES!r}", "lacks files")
    read = table.read(["path", "root", "entry"])
    columns = (read.column(name).to_pylist() for name in ("path", "root", "entry"))
    try:
        entries = {
            path: entry_from_json(json.loads(entry), directory=path, root=root)
            for path, root, entry in zip(*columns, strict=True)
        }
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise PublicationDamaged("the publication", f"the table {SKILLS!r}", f"cannot be read: {error}") from error
    labels = [root.label for root in publication.roots]
    embedded = publication.embedding == options.embedding and table.dimension is not None
    contents = IndexContents(
        keys=LibraryKeys({label: label for label in labels}),
        labels=frozenset(labels),
        embedded=embedded,
        unembedded=len(table.without_vector("true")) if embedded else 0,
        scale=publication.scale,
    )
    index = SearchIndex(
        contents,
        published=TableVersionId(publication.table_id, publication.skills_version),
        open_table=lambda: table,
        count=lambda version: _statistics(directory, labels, version),
    )
    snapshot = _snapshot_of(publication, entries, options.admission)
    return _Served(publication, View(snapshot, index), entries, rows, files)


async def _files(directory: str, version: int) -> Any:
    return await (await connect(directory)).open_table(FILES, version=version)


def _statistics(directory: str, labels: Sequence[str], table: TableVersion) -> Statistics:
    """Return the statistics of all roots, which are kept in the mirror."""
    kept, found = RootStatistics(directory), []
    for label in labels:
        name = statistics_name(SKILLS, label, table.version)
        if not kept.is_there(name):
            kept.save(SKILLS, label, table, counted(table.counted_of(label)))
        found.append(kept.load(name, label, table))
    return summed(found)


def _snapshot(served: _Served, admission: Admission) -> Snapshot:
    return _snapshot_of(served.publication, served.entries, admission)


def _snapshot_of(publication: Publication, entries: ScanCache, admission: Admission) -> Snapshot:
    roots = tuple(
        # A kind of place that this version does not know has the hub's rank.
        SkillRoot(root.label, root.label, Source(root.source) if root.source in SOURCES else Source.HUB, number)
        for number, root in enumerate(publication.roots, start=1)
    )
    return scan_from_cache(roots, memory=entries, admission=admission)


def _nothing_at(target: Target) -> SkillHubError:
    if OLD_POINTER in target.objects.list():
        return PublicationDamaged(
            target.name,
            "what was published",
            "is of an earlier SkillHub, which this one does not serve",
            hint="run skillhub publish again where the skills are",
        )
    return PublicationMissing(target.name)


def _in_short(error: SkillHubError) -> str:
    """Return what is wrong with the storage or the publication, without where that is."""
    match error:
        case PublicationDamaged():
            return f"{error.part} {error.reason}"
        case StorageUnavailable():
            return error.reason
        case PublicationMissing():
            return "nothing is published there"
    return error.message


def _not_there_yet() -> IndexUnavailable:
    return IndexUnavailable("The publication is still being fetched", hint="call again in a few seconds")
