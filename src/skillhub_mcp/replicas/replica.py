"""A replica: serves a snapshot of a publication, and looks for another now and then.

1. A caller gets one immutable view and uses it for its whole answer. Another snapshot replaces the view when all that
   it needs is in the mirror, so that a caller sees the old one or the new one.
2. One thread looks. It starts from the mirror where there is one, and serves that as long as the storage fails.
3. Files of skills that are not in the mirror yet are fetched behind the first answer, and when somebody asks for them.
"""

from __future__ import annotations

import logging
import operator
import os
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from skillhub_mcp.embedders.abandonable import start_abandonable
from skillhub_mcp.errors import (
    IndexUnavailable,
    PublicationDamaged,
    PublicationMissing,
    SkillFilesUnavailable,
    StorageUnavailable,
)
from skillhub_mcp.events import NULL_OBSERVER, LibraryEvent, Observer, PublicationEvent, observe
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.indexed_roots import IndexedRoot
from skillhub_mcp.index.progress import IndexProgress
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.views import AnyIndex, SyncDepth, View
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.replicas.copies import SkillCopies
from skillhub_mcp.replicas.generation import (
    Generation,
    HeldShards,
    HeldSkill,
    NotMirrored,
    held_shards,
    index_parts,
    mirrored_manifest,
    mirrored_shard,
    open_generation,
    shard_parts,
    snapshot_part,
)
from skillhub_mcp.replicas.health import Health, PublicationHealth, in_short
from skillhub_mcp.replicas.mirror import FetchAbandoned, Mirror, MirroredPart
from skillhub_mcp.skills.admission import LENIENT, Admission
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.storage.manifest import (
    MAX_POINTER_BYTES,
    POINTER,
    BadManifest,
    CommitPointer,
    ListedSnapshot,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredSkill,
    read_pointer,
)
from skillhub_mcp.storage.object_store import ObjectStore, Patience

log = logging.getLogger(__name__)

FIRST_ANSWER_SECONDS = 120.0
_CLOSE_SECONDS = 2.0
# How long a caller waits who found nothing by a name, which may have been published a moment ago.
_LOOK_AGAIN_SECONDS = 1.0
_LEAST_BETWEEN_LOOKS_SECONDS = 1.0
# After failures the next looks come later, up to so many times the usual interval, and at most a minute beyond it.
_LONGEST_REST_FACTOR = 4
_LONGEST_REST_SECONDS = 60.0
# Replicas that were started together do not look together.
_JITTER = 0.1
_FETCHES_AT_ONCE = 8
# A request is for some megabytes. What fails is asked for again at the next look, and callers do not wait for looks.
PATIENCE = Patience(request_seconds=30.0, retries=2, seconds=40.0)
_FILL_AT_ONCE = 4
# The files of the snapshot before stay at hand: what was found a moment ago is loaded from it.
_FORMER_SECONDS = 600.0
_TRIM_SECONDS = 600.0
_SHARDS_READ = 16
# What a look repeats that found something damaged in the mirror.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """What is followed: the publication's current snapshot, or the `pinned` one; looked for every `refresh_seconds`.

    `embedding` is the identity of the embedder that queries have, and `admission` what is served of the publication.
    """

    pinned: str = ""
    refresh_seconds: float = 30.0
    embedding: str = ""
    admission: Admission = LENIENT


class Replica:
    """The snapshot and the index of a publication, for whoever searches and reads. See `index.views.ViewSource`.

    Without `background` there is no thread: one look, made when it is first needed, answers all queries; it asks the
    storage only if nobody has done so for `refresh_seconds`. Safe to use from several threads.
    """

    def __init__(
        self,
        store: ObjectStore,
        mirror: Mirror,
        options: ReplicaOptions,
        *,
        background: bool = True,
        observer: Observer = NULL_OBSERVER,
        progress: IndexProgress | None = None,
    ) -> None:
        self._store = store
        self._mirror = mirror
        self._options = options
        self._background = background
        self._observer = observer
        self._progress = progress or IndexProgress()
        self._health = Health(tells_of_nothing=background)
        self._copies = SkillCopies(mirror, store, self._stored_files)
        self._condition = threading.Condition()
        # Two looks must not overlap.
        self._look_lock = threading.Lock()
        self._generation: Generation | None = None
        self._former: Generation | None = None
        self._former_until = 0.0
        self._view: View | None = None
        self._etag = ""
        self._damaged: AnyIndex | None = None
        self._failure: IndexUnavailable | None = None
        self._failures = 0
        self._looks = 0
        self._looked_at = 0.0
        self._requested = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._trimmed_at = 0.0
        self._unfetched: list[MirroredPart] = []
        # How many bytes more the mirror may have; None where that has to be counted.
        self._room: int | None = None
        self._shards: LRUCache[str, Mapping[str, Sequence[StoredFile]]] = LRUCache(_SHARDS_READ)
        self._shards_lock = threading.Lock()
        self._listeners: list[Callable[[bool], None]] = []

    # What the hub asks

    @property
    def progress(self) -> IndexProgress:
        """The progress of the first look."""
        return self._progress

    def start(self) -> None:
        """Begin in the background, so that the first query need not wait."""
        with self._condition:
            if self._background and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="skillhub-replica", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._progress.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
        self._health.close()

    def peek(self) -> View | None:
        """Return the current view, if there is one, without waiting."""
        return self._view

    def snapshot(self, *, fresh: bool = False, admission: Admission | None = None) -> Snapshot:
        """Return the current snapshot; with `fresh`, after asking the storage if that does not fail. See `ViewSource`.

        Raises IndexUnavailable.
        """
        if fresh:
            self._look_again()
        snapshot = self._wait_for_view(lambda _: True).snapshot
        generation = self._generation
        return snapshot if admission is None or generation is None else generation.snapshot_for(admission)

    def view(self, *, instead_of: AnyIndex | None = None) -> tuple[View, AnyIndex]:
        """Return a view and its index, waiting for the first. Raises IndexUnavailable."""
        if instead_of is not None:
            self._discard(instead_of)
        view = self._wait_for_view(_can_search)
        if view.index is None:
            raise view.problem or _not_there_yet()
        return view, view.index

    def is_ready(self) -> bool:
        """Whether a search would return, or fail, without waiting for the first snapshot."""
        view = self._view
        return not self._background or self._failure is not None or (view is not None and _can_search(view))

    def sync(
        self, depth: SyncDepth = SyncDepth.CHANGES, *, only: Sequence[str] | None = None, waiting: bool = False
    ) -> View:
        """Ask the storage in the caller's thread, and return the view. Raises IndexUnavailable."""
        del only, waiting
        if depth in (SyncDepth.REBUILD, SyncDepth.FORGET):
            raise IndexUnavailable(
                "A replica writes no index: it serves what was published",
                hint="run skillhub publish where the skills are",
            )
        view = self._view
        if depth is SyncDepth.VERIFY and view is not None and view.index is not None and self.damages():
            self._discard(view.index)
        self._look_once()
        return self._require_view()

    def _look_again(self) -> None:
        """Have the storage asked now; wait for it, but not for long, and not for a storage that fails."""
        if not self._background or self._thread is None or self._health.is_bad:
            return
        with self._condition:
            if time.monotonic() - self._looked_at < _LEAST_BETWEEN_LOOKS_SECONDS:
                return
            looks, self._requested = self._looks, True
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._closed or self._looks > looks, _LOOK_AGAIN_SECONDS)

    def damages(self) -> tuple[Damage, ...]:
        """Return what is damaged in the index, reading all of it. The next look mends it, from the storage."""
        generation = self._generation
        parts = () if generation is None else index_parts(generation.manifest)
        return tuple(
            Damage(IndexPart.MIRROR, f"{part.path} in the mirror is not what was published")
            for part in parts
            if not self._mirror.is_whole(part)
        )

    def indexed_roots(self) -> tuple[IndexedRoot, ...]:
        """Return none: a publication's rows are those of its publisher's roots."""
        return ()

    def forget(self, roots: Collection[str]) -> None:
        """Refuse it: a replica writes no index. Raises IndexUnavailable."""
        raise IndexUnavailable(
            f"A read-only replica has no rows of {', '.join(roots)} to forget",
            hint="forget them where the skills are, and run skillhub publish there",
        )

    def subscribe(self, listener: Callable[[bool], None]) -> None:
        """Call `listener` when another snapshot is served, from the thread that looked. See `ViewSource`."""
        self._listeners.append(listener)

    def _discard(self, failed: AnyIndex) -> None:
        """Drop an index that could not be read; the next query waits for its replacement."""
        with self._condition:
            self._damaged = failed
            if self._view is not None and self._view.index is failed:
                self._view = replace(self._view, index=None, problem=None)
            self._requested = True
            self._condition.notify_all()

    # What is particular to a replica

    def files_of(self, skill: Skill) -> str:
        """Return the directory with the files of a skill, as it was published. Raises SkillFilesUnavailable."""
        generations = [one for one in (self._generation, self._former) if one is not None]
        named = [held for one in generations if (held := one.skills.get(skill.directory)) is not None]
        held = next((held for held in named if held.skill is skill), named[0] if named else None)
        if held is None:
            raise SkillFilesUnavailable(skill.name, "it is no longer published")
        return self._copies.directory(held)

    def health(self) -> PublicationHealth:
        """Return which snapshot is served, and how the storage does."""
        return self._health.told()

    # Looking

    def _run(self) -> None:
        self._start_from_mirror()
        while True:
            self._look_once()
            view = self._view
            if view is not None and isinstance(view.index, SkillIndex):
                view.index.rest()
            due = time.monotonic() + self._rest()
            while not self._closed and time.monotonic() < due and self._unfetched and not self._requested:
                self._fill()
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._requested, max(0.0, due - time.monotonic()))
                self._requested = False
                if self._closed:
                    return

    def _look_once(self) -> None:
        with self._look_lock:
            try:
                self._look()
            except Exception:  # the top of a thread: it is logged, and the last view stays in use
                log.exception("Looking for another snapshot failed unexpectedly; the last one stays in use")
                self._fail(IndexUnavailable("The publication could not be read", hint="the server's log says why"))
        with self._condition:
            self._looks += 1
            self._looked_at = time.monotonic()
            self._condition.notify_all()
        self._progress.finish()

    def _look(self) -> None:
        before = self._generation
        event = PublicationEvent()
        try:
            with observe(self._observer, event):
                self._health.asking()
                try:
                    event.changed = self._follow()
                except OSError as error:
                    raise StorageUnavailable("The mirror", f"the mirror: {error.strerror or error}") from error
                self._health.well()
                self._failures = 0
                self._failure = None
                event.snapshot = 0 if self._generation is None else self._generation.listed.number
        except FetchAbandoned:
            return
        except (StorageUnavailable, PublicationDamaged, PublicationMissing) as error:
            self._failures += 1
            self._health.failed(error)
            self._fail(
                IndexUnavailable(f"The publication cannot be read: {in_short(error)}", hint="call again in a while")
            )
        if self._generation is not before:
            self._tell(before)
        self._trim()

    def _follow(self) -> bool:
        """Serve the snapshot that is wanted by now; return whether it is another one.

        Raises StorageUnavailable, PublicationDamaged, PublicationMissing and OSError.
        """
        serving = self._generation
        whole = serving is not None and self._is_mirrored(serving)
        known = self._etag if whole and self._damaged is None else ""
        found = (
            self._store.get_if_changed(POINTER, known, most=MAX_POINTER_BYTES)
            if known
            else self._store.get(POINTER, most=MAX_POINTER_BYTES)
        )
        if found is None and known:
            self._mirror.note_checked()
            return False
        if found is None or not found.content:
            raise PublicationMissing(self._store.name)
        self._health.answered()
        listed = self._wanted(_parsed_pointer(found.content))
        if listed is None:
            raise PublicationMissing(self._store.name, self._options.pinned)
        changed = serving is None or serving.listed.id != listed.id or self._damaged is not None
        if changed:
            self._serve(self._fetched(listed, serving))
        elif serving is not None and not whole:
            self._mirror_again(serving)
        self._mirror.keep_pointer(found.content)
        self._etag = found.etag
        return changed

    def _is_mirrored(self, serving: Generation) -> bool:
        """Whether the mirror has what a replica starts from: somebody may have deleted it."""
        return self._mirror.pointer() is not None and all(self._mirror.has(part) for part in serving.parts)

    def _mirror_again(self, serving: Generation) -> None:
        """Have what is served in the mirror again; what is mapped of it stays in use, and files come behind it."""
        log.info("The mirror lacks what is served, which is fetched again")
        self._fetch(serving.parts)
        self._unfetched = [part for part in serving.packs if not self._mirror.has(part)]
        self._room = None

    def _wanted(self, pointer: CommitPointer) -> ListedSnapshot | None:
        return pointer.find(self._options.pinned) if self._options.pinned else pointer.served

    def _fetched(self, listed: ListedSnapshot, serving: Generation | None) -> Generation:
        """Return a snapshot of which all that was not there is fetched, but for the files of the first."""
        for _ in range(_TRIES):
            try:
                return self._fetch_and_open(listed, serving)
            except NotMirrored as error:
                missing = error
                log.info("%s in the mirror is not what was published, and is fetched again", error.part.path)
                self._drop_damaged(listed)
        raise PublicationDamaged("the mirror", missing.part.path, "is not what was written, again and again")

    def _drop_damaged(self, listed: ListedSnapshot) -> None:
        """Remove from the mirror what is not as it was published: where one part is damaged, others may be."""
        with suppress(NotMirrored):
            manifest = mirrored_manifest(self._mirror, listed)
            for part in (*shard_parts(manifest), *index_parts(manifest)):
                self._mirror.is_whole(part)

    def _fetch_and_open(self, listed: ListedSnapshot, serving: Generation | None) -> Generation:
        self._fetch([snapshot_part(listed)])
        manifest = mirrored_manifest(self._mirror, listed)
        # Each is looked at: what is not whole is removed by that, and fetched below.
        if self._damaged is not None and not [p for p in index_parts(manifest) if not self._mirror.is_whole(p)]:
            raise PublicationDamaged("the publication", index_parts(manifest)[0].path, "cannot be searched")
        self._fetch([*shard_parts(manifest), *index_parts(manifest)], skills=manifest.skills if serving is None else 0)
        self._health.not_asking()
        shards = held_shards(self._mirror, manifest, {} if serving is None else serving.shards)
        generation = self._opened(listed, manifest, shards)
        if serving is not None:
            # What has changed is here before it is served; what was not here before goes on coming behind it.
            known = {part.path for part in serving.packs}
            self._health.asking()
            self._fetch([part for part in generation.packs if part.path not in known])
        return generation

    def _opened(self, listed: ListedSnapshot, manifest: SnapshotManifest, shards: HeldShards) -> Generation:
        return open_generation(
            self._mirror,
            listed,
            manifest,
            shards,
            admission=self._options.admission,
            embedding=self._options.embedding,
        )

    def _fetch(self, parts: Sequence[MirroredPart], *, skills: int = 0) -> None:
        """Have the parts in the mirror; with `skills`, the progress is told as a share of so many."""
        missing = [part for part in dict.fromkeys(parts) if not self._mirror.has(part)]
        if not missing:
            return

        left = iter(missing)
        taking = threading.Lock()
        failed = threading.Event()

        def fetch() -> None:
            while not failed.is_set():
                with taking:
                    part = next(left, None)
                if part is None:
                    return
                try:
                    self._mirror.fetch(self._store, part, goes_on=self._goes_on)
                except BaseException:
                    failed.set()
                    raise
                if skills:
                    done = len(missing) - operator.length_hint(left)
                    self._progress.report("fetching", skills * done // len(missing), skills)

        # Threads that keep nobody: a storage that stands still must not hold up the end of the process.
        workers = [start_abandonable(fetch, name="skillhub-fetch") for _ in range(min(_FETCHES_AT_ONCE, len(missing)))]
        for worker in workers:
            worker.result()

    def _goes_on(self) -> bool:
        self._health.answered()
        return not self._closed

    def _start_from_mirror(self) -> None:
        """Serve what is in the mirror, if a whole snapshot is: that which is wanted, or else the newest."""
        try:
            content = self._mirror.pointer()
            pointer = None if content is None else _parsed_pointer(content)
        except (OSError, PublicationDamaged) as error:
            log.info("The mirror is not used: %s", error)
            return
        if pointer is None:
            return
        wanted = self._wanted(pointer)
        others = () if self._options.pinned else (one for one in pointer.snapshots if one != wanted)
        for listed in (*([wanted] if wanted is not None else []), *others):
            try:
                manifest = mirrored_manifest(self._mirror, listed)
                generation = self._opened(listed, manifest, held_shards(self._mirror, manifest, {}))
            except (NotMirrored, PublicationDamaged, OSError) as error:
                log.debug("Snapshot %s is not in the mirror: %s", listed.id, error)
                continue
            with self._look_lock:
                self._serve(generation)
            self._tell(None)
            self._progress.finish()
            return

    def _serve(self, generation: Generation) -> None:
        serving = self._generation
        with self._condition:
            if serving is not None and serving.listed.id != generation.listed.id:
                self._former, self._former_until = serving, time.monotonic() + _FORMER_SECONDS
            self._generation = generation
            self._view = generation.view
            self._damaged = None
            self._health.snapshot = generation.listed.id
            self._unfetched = [part for part in generation.packs if not self._mirror.has(part)]
            self._condition.notify_all()

    def _tell(self, before: Generation | None) -> None:
        now = self._generation
        if now is None:
            return
        skills = len(now.view.snapshot.everything)
        log.info("Serving snapshot %s of %s: %s skills", now.listed.id, now.listed.created_at, f"{skills:,}")
        if before is None or len(before.view.snapshot.everything) != skills:
            self._observer.start(LibraryEvent(skills=skills))()
        is_other = before is not None and before.view.snapshot.everything != now.view.snapshot.everything
        for listener in self._listeners:
            listener(is_other)

    def _fail(self, failure: IndexUnavailable) -> None:
        with self._condition:
            self._failure = failure
            if self._view is not None and self._view.index is None:
                self._view = replace(self._view, problem=failure)
            self._condition.notify_all()

    def _rest(self) -> float:
        """Return how many seconds to wait for the next look: more after failures, and never the same."""
        usual = self._options.refresh_seconds
        longest = max(usual, min(usual * _LONGEST_REST_FACTOR, usual + _LONGEST_REST_SECONDS))
        rest = usual if not self._failures else min(usual * 2 ** min(self._failures - 1, 8), longest)
        return rest * (1.0 - _JITTER * random.random())  # noqa: S311 - no secret

    # The files

    def _fill(self) -> None:
        """Fetch some packs of the snapshot that is served, while there is room."""
        some = self._unfetched[:_FILL_AT_ONCE]
        rest = self._unfetched[_FILL_AT_ONCE:]
        try:
            if self._room is None:
                self._room = self._mirror.most_bytes - self._mirror.size()
            if self._room <= 0:
                self._unfetched = []
                log.warning("The mirror is full: files that are not in it are fetched when somebody asks for them")
                return
            self._fetch(some)
            self._room -= sum(os.path.getsize(self._mirror.path(part.path)) for part in some)
        except FetchAbandoned:
            return
        except (StorageUnavailable, PublicationDamaged, PublicationMissing, OSError) as error:
            # The next look says what is wrong with the storage. One pack that is damaged does not keep the others.
            log.debug("Files are not in the mirror yet: %s", error)
            self._unfetched = [*rest, *some]
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._requested, self._options.refresh_seconds)
            return
        self._unfetched = rest

    def _stored_files(self, held: HeldSkill) -> Sequence[StoredFile]:
        """Return the files of a skill.

        Raises PublicationDamaged, PublicationMissing, StorageUnavailable and OSError.
        """
        with self._shards_lock:
            shard = self._shards.get(held.shard.sha256)
        if shard is None:
            shard = {one.key: one.files for one in self._read_shard(held.shard)}
            with self._shards_lock:
                self._shards.put(held.shard.sha256, shard)
        return shard[held.skill.directory]

    def _read_shard(self, shard: ObjectRef) -> Sequence[StoredSkill]:
        try:
            return mirrored_shard(self._mirror, shard)
        except NotMirrored as missing:
            self._mirror.fetch(self._store, missing.part)
        return mirrored_shard(self._mirror, shard)

    def _trim(self) -> None:
        now = time.monotonic()
        if self._former is not None and now > self._former_until:
            self._former = None
        if self._generation is None or now - self._trimmed_at < _TRIM_SECONDS:
            return
        self._trimmed_at, self._room = now, None
        used = [part for one in (self._generation, self._former) if one for part in (*one.parts, *one.packs)]
        try:
            self._mirror.note_used(used)
            self._mirror.trim(used)
        except OSError as error:
            log.warning("The mirror cannot be tidied: %s", error.strerror or error)

    # Waiting

    def _wait_for_view(self, enough: Callable[[View], bool]) -> View:
        if not self._background:
            if self._view is None or not enough(self._view):
                self._look_in_caller()
            return self._require_view()
        self.start()
        with self._condition:
            self._condition.wait_for(lambda: self._is_settled(enough), FIRST_ANSWER_SECONDS)
        return self._require_view()

    def _look_in_caller(self) -> None:
        self._start_from_mirror()
        if self._view is None or time.time() - self._mirror.checked_at() > self._options.refresh_seconds:
            self._look_once()

    def _is_settled(self, enough: Callable[[View], bool]) -> bool:
        view = self._view
        return self._closed or (self._failure is not None if view is None else enough(view))

    def _require_view(self) -> View:
        view = self._view
        if view is None:
            raise self._failure or _not_there_yet()
        return view


def _parsed_pointer(content: bytes) -> CommitPointer:
    try:
        return read_pointer(content)
    except BadManifest as error:
        raise PublicationDamaged("the publication", POINTER, str(error)) from error


def _can_search(view: View) -> bool:
    return view.index is not None or view.problem is not None


def _not_there_yet() -> IndexUnavailable:
    return IndexUnavailable("The publication is still being fetched", hint="call again in a few seconds")
