"""One publication: what differs from the last is written, and then the commit pointer names the new snapshot.

Until that one conditional write nothing that a reader looks at has changed, so a publisher that is killed, or fails at
any step, leaves the last publication as it was; what it uploaded is used by the next, or removed after a day.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillhub_mcp.errors import LeaseLost, LibraryChanging, PublicationDamaged, StorageUnavailable
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.state import NO_EMBEDDING
from skillhub_mcp.scratch import scratch_directory
from skillhub_mcp.skills.model import SKILL_FILE, FileStamp
from skillhub_mcp.storage.commit import change_pointer
from skillhub_mcp.storage.contents import ContentLimits, FileToStore, NotPublished, contents_of
from skillhub_mcp.storage.index_files import (
    BaseKeys,
    RowToStore,
    plan_addition,
    read_base_keys,
    ref_of,
    write_addition,
    write_base,
    write_statistics,
)
from skillhub_mcp.storage.lance_rows import LanceRows, RowsBefore
from skillhub_mcp.storage.lease import LeaseTimes, WriterLease, held_lease
from skillhub_mcp.storage.library import NOT_AS_LOCKED, LibraryToStore, SkillToStore
from skillhub_mcp.storage.locked_copy import CopiedSkill
from skillhub_mcp.storage.manifest import (
    CommitPointer,
    ListedSnapshot,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredIndex,
    StoredRows,
    StoredShard,
    StoredSkill,
    manifest_json,
    pack_path,
    read_manifest,
    segment_path,
    shard_json,
    shard_path,
    snapshot_id,
    snapshot_path,
)
from skillhub_mcp.storage.object_store import ObjectStore
from skillhub_mcp.storage.packing import PackPlace, PackWriter, Transfer
from skillhub_mcp.storage.reading import PublicationReader
from skillhub_mcp.storage.retention import drop_snapshots, remove_orphans
from skillhub_mcp.version import version

_SHARD_SKILLS = 256
_READS_AT_ONCE = 8
_MOST_BASE_KEYS_BYTES = 1024 * 1024 * 1024
# Of a pack less than this is used by the new snapshot: what is, is packed anew.
_WORTH_KEEPING = 0.5
_NAMED_SKILLS = 3


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """How to publish. `publisher` is told to others, `keep` is how many snapshots stay besides the pinned ones.

    What no kept snapshot names is removed when it is older than `orphan_seconds`, by the storage's clock.
    """

    publisher: str
    keep: int = 10
    dry_run: bool = False
    limits: ContentLimits = field(default_factory=ContentLimits)
    lease: LeaseTimes = field(default_factory=LeaseTimes)
    orphan_seconds: float = 24 * 3600.0
    on_wait: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class PublishReport:
    """What one publication did. `snapshot` is "" for a dry run; `changed` is False where all was published already.

    `uploaded` objects and bytes are packs, shards and files of the index; `known_files` were in the storage already.
    `removed` counts objects that no kept snapshot needed, `dropped` are the snapshots that are kept no longer, and
    `not_tidied` says why nothing was removed.
    """

    target: str
    snapshot: str
    changed: bool
    skills: int
    files: int
    bytes: int
    added: int
    modified: int
    removed_skills: int
    uploaded_objects: int
    uploaded_bytes: int
    known_files: int
    known_bytes: int
    unembedded: int
    left_out: Sequence[NotPublished] = field(default=())
    dropped: Sequence[str] = ()
    removed: int = 0
    kept: int = 0
    not_tidied: str | None = None


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What a skill is compared with, of the snapshot before: without the description and metadata, which take most."""

    content_hash: str
    mtime_ns: int
    embedded: bool
    files: tuple[StoredFile, ...]

    @classmethod
    def of(cls, stored: StoredSkill) -> _Earlier:
        """Return it of a skill as it was read."""
        stamp = stored.skill.stamp
        return cls(stamp.content_hash, stamp.mtime_ns, stored.embedded, stored.files)


@dataclass(frozen=True)
class _Before:
    """The snapshot that this one follows: its manifest, its skills by key, and the keys of its base."""

    manifest: SnapshotManifest | None
    skills: Mapping[str, _Earlier]
    base: BaseKeys | None

    @property
    def places(self) -> dict[str, PackPlace]:
        """Where the contents of its files lie, by SHA-256."""
        return {
            file.sha256: PackPlace(file.pack, file.offset) for skill in self.skills.values() for file in skill.files
        }


_NOTHING = _Before(None, {}, None)


def publish(
    library: LibraryToStore,
    store: ObjectStore,
    rows: Callable[[Callable[[], None]], LanceRows],
    options: PublishOptions,
    progress: ProgressCallback = no_progress,
) -> PublishReport:
    """Publish a library to a store, and return what was done.

    `rows` makes the LanceDB table, given what it calls before each write. Raises StorageUnavailable, PublicationBusy,
    LeaseLost, LibraryChanging, PublicationDamaged for a pointer that cannot be read, and IndexDamaged.
    """
    reader = PublicationReader(store)
    if options.dry_run:
        found = reader.pointer_if_any()
        pointer = CommitPointer() if found is None else found[0]
        return _Publication(library, reader, options, progress, None, pointer).planned()
    known = reader.pointer_if_any()
    at_least = 0 if known is None else known[0].fence
    with held_lease(store, options.publisher, options.lease, at_least=at_least, on_wait=options.on_wait) as lease:

        def fenced(before: CommitPointer) -> CommitPointer:
            # From here on no earlier holder of the lease can commit, wherever it stands.
            if before.fence >= lease.fence:
                raise LeaseLost(store.name)
            return replace(before, fence=lease.fence)

        pointer = change_pointer(store, fenced, may_be_new=True)
        return _Publication(library, reader, options, progress, lease, pointer).written(rows(lease.check))


class _Publication:
    """The steps of one publication; without a `lease` nothing is written."""

    def __init__(
        self,
        library: LibraryToStore,
        reader: PublicationReader,
        options: PublishOptions,
        progress: ProgressCallback,
        lease: WriterLease | None,
        pointer: CommitPointer,
    ) -> None:
        self._library = library
        self._reader = reader
        self._store = reader.store
        self._options = options
        self._progress = progress
        self._lease = lease
        self._pointer = pointer
        self._left_out: list[NotPublished] = list(library.left_out)
        self._transfer = Transfer()

    def planned(self) -> PublishReport:
        """Return what would be done; uploads nothing."""
        before = self._before()
        skills, manifest = self._put(before, None)
        if manifest is not None:
            self._count(len(manifest_json(manifest)))
        return self._report(before, skills, "", changed=manifest is not None)

    def written(self, table: LanceRows) -> PublishReport:
        """Do it, and return what was done."""
        before = self._before()
        skills, manifest = self._put(before, table)
        if manifest is not None:
            pointer, snapshot, dropped = self._commit(manifest)
        else:
            snapshot, pointer, dropped = self._pointer.current, self._pointer, ()
            if drop_snapshots(pointer, keep=self._options.keep) != pointer:
                pointer, dropped = self._changed(lambda one: one)
        report = self._report(before, skills, snapshot, changed=manifest is not None)
        report = replace(report, dropped=dropped, kept=len(pointer.snapshots))
        try:
            removed = remove_orphans(self._reader, pointer, seconds=self._options.orphan_seconds, check=self._check)
        except (StorageUnavailable, PublicationDamaged, LeaseLost) as error:
            # The snapshot is published: the next publisher tidies up.
            return replace(report, not_tidied=error.message)
        return replace(report, removed=removed)

    def _put(
        self, before: _Before, table: LanceRows | None
    ) -> tuple[Mapping[str, StoredSkill], SnapshotManifest | None]:
        """Upload what differs; return the skills, and the manifest that names it, None where all was there already."""
        skills, packs = self._files(before)
        shards = self._put_shards(before, skills)
        index, index_changed = self._put_index(before, skills, table)
        if before.manifest is not None and not index_changed and shards == before.manifest.shards:
            return skills, None
        return skills, self._manifest(skills, packs, shards, index)

    # What was there

    def _before(self) -> _Before:
        current = self._pointer.served
        if current is None:
            return _NOTHING
        try:
            manifest = self._reader.snapshot(current)
            skills: dict[str, _Earlier] = {}

            def read(shard: StoredShard) -> list[tuple[str, _Earlier]]:
                return [(skill.key, _Earlier.of(skill)) for skill in self._reader.shard(shard)]

            with ThreadPoolExecutor(_READS_AT_ONCE, thread_name_prefix="skillhub-read") as threads:
                for done, some in enumerate(threads.map(read, manifest.shards), 1):
                    skills.update(some)
                    self._progress("reading what is published", done, len(manifest.shards))
            keys = self._reader.segment(manifest.index.base_keys, most=_MOST_BASE_KEYS_BYTES)
            return _Before(manifest, skills, read_base_keys(keys))
        except (PublicationDamaged, ValueError):
            # Everything is written anew, as for the first time: that mends it.
            return _NOTHING

    # Files

    def _files(self, before: _Before) -> tuple[dict[str, StoredSkill], PackWriter]:
        present = {entry.path.rpartition("/")[2]: entry.size for entry in self._store.list("packs")}
        worth = _packs_worth_keeping(before.skills.values(), present)
        known = {digest: place for digest, place in before.places.items() if place.pack in worth}
        store = None if self._lease is None else self._store
        packs = PackWriter(store, known=known, present=present, check=self._check)
        read: list[tuple[SkillToStore, list[tuple[FileToStore, str]]]] = []
        changing: list[str] = []
        try:
            for done, skill in enumerate(self._library.skills, 1):
                files: list[tuple[FileToStore, str]] = []
                own, unreadable = None, False
                copied = CopiedSkill(skill.skill, self._library.locked)
                for found in contents_of(skill.skill.directory, name=skill.key, limits=self._options.limits):
                    if isinstance(found, NotPublished):
                        self._left_out.append(found)
                        unreadable = unreadable or found.path == SKILL_FILE
                        continue
                    digest = hashlib.sha256(found.content).hexdigest()
                    if not copied.takes(found, digest):
                        break
                    packs.add(found.content, digest)
                    own = digest if found.path == SKILL_FILE else own
                    # The bytes are in the pack: of a large library nobody keeps them all.
                    files.append((replace(found, content=b""), f"{digest}:{len(found.content)}"))
                if not copied.is_as_locked():
                    self._left_out.append(NotPublished(skill.skill.name, "", NOT_AS_LOCKED))
                    continue
                if unreadable:
                    continue
                if own is None or (skill.skill.stamp.is_of_whole_file and own != skill.skill.stamp.content_hash):
                    changing.append(skill.skill.name)
                read.append((skill, files))
                self._progress("reading files", done, len(self._library.skills))
            if changing:
                raise LibraryChanging(changing[:_NAMED_SKILLS])
            packs.close()
        finally:
            packs.abandon()
        self._add(packs.transfer)
        times = _carried_times(self._library.skills, before.skills)
        return {
            skill.key: _stored(skill, files, packs, times[skill.key], self._library) for skill, files in read
        }, packs

    # Shards and index

    def _put_shards(self, before: _Before, skills: Mapping[str, StoredSkill]) -> tuple[StoredShard, ...]:
        count = _shard_count(len(skills), before.manifest)
        contents = _shards(skills, count)
        counts = _shard_sizes(skills, count)
        present = {entry.path: entry.size for entry in self._store.list("shards")}
        shards: list[StoredShard] = []
        missing: list[tuple[str, bytes]] = []
        for number, content in sorted(contents.items()):
            ref = ObjectRef(hashlib.sha256(content).hexdigest(), len(content))
            shards.append(StoredShard(ref, counts[number]))
            if present.get(shard_path(ref.sha256)) != ref.size:
                missing.append((shard_path(ref.sha256), content))
        self._put_all(missing, "writing the list of skills")
        return tuple(shards)

    def _put_index(
        self, before: _Before, skills: Mapping[str, StoredSkill], table: LanceRows | None
    ) -> tuple[StoredIndex, bool]:
        """Write what differs of the index, and return it, and whether anything did.

        Without a `table` its version is the next, which is a digit or two of what the manifest says.
        """
        # The files and the list of skills are there: what they took would be held while the table is written.
        own = self._library.index
        row_keys = own.index.row_keys()
        rows = {
            skill.key: RowToStore(
                row_keys[number], skill.skill.stamp.content_hash, own.index.has_vector(skill.skill.directory)
            )
            for skill in self._library.skills
            if skill.key in skills and (number := own.index.number(skill.skill.directory)) is not None
        }
        earlier = None if before.manifest is None else before.manifest.index
        continued = (
            earlier is not None
            and before.base is not None
            and (earlier.schema, earlier.embedder, earlier.embedding) == (own.schema, own.embedder, own.embedding)
        )
        table_id = earlier.table_id if earlier is not None and continued else secrets.token_hex(8)
        changed, removed = _difference(before.skills, rows)
        if earlier is not None and continued and not changed and not removed and earlier.rows is not None:
            return earlier, False
        wanted = own.embedding != NO_EMBEDDING
        unembedded = sum(not row.embedded for row in rows.values()) if wanted else 0
        with scratch_directory("publish") as scratch:
            segments, base_keys = self._put_segments(Path(scratch), before if continued else _NOTHING, rows, table_id)
            self._progress("writing the index", 1, 3)
            path = Path(scratch, "statistics.npz")
            statistics = write_statistics(str(path), own.index, rows.values(), table_id)
            self._upload(segment_path(statistics.sha256), path, statistics.size)
            self._progress("writing the index", 2, 3)
        known = earlier.rows if earlier is not None and continued else None
        written = StoredRows(1 if known is None else known.version + 1, _tag(self._number))
        if table is not None:
            written = table.write(
                own.index.table,
                rows,
                table_id=table_id,
                before=None if known is None else RowsBefore(known, changed, removed),
                tag=written.tag,
                kept_tags=[_tag(one.number) for one in self._pointer.snapshots],
            )
        self._progress("writing the index", 3, 3)
        return StoredIndex(
            own.schema, table_id, own.embedder, own.embedding, unembedded, segments, statistics, base_keys, written
        ), True

    def _put_segments(
        self, scratch: Path, before: _Before, rows: Mapping[str, RowToStore], table_id: str
    ) -> tuple[tuple[ObjectRef, ...], ObjectRef]:
        index = self._library.index.index
        base = before.base
        plan = None if base is None else plan_addition(base, rows)
        if base is not None and plan is not None and before.manifest is not None:
            kept = before.manifest.index.base_keys
            if not plan.added and not plan.gone:
                return (base.ref,), kept
            path = scratch / "addition.arrays"
            addition = write_addition(str(path), index, base, plan, rows, table_id)
            self._upload(segment_path(addition.sha256), path, addition.size)
            return (base.ref, addition), kept
        path = scratch / "base.arrays"
        base = write_base(str(path), index, rows, table_id)
        self._upload(segment_path(base.ref.sha256), path, base.ref.size)
        keys = scratch / "base.keys"
        keys.write_bytes(base.to_json())
        ref = ref_of(str(keys))
        self._upload(segment_path(ref.sha256), keys, ref.size)
        return (base.ref,), ref

    # Commit

    @property
    def _number(self) -> int:
        return max((one.number for one in self._pointer.snapshots), default=0) + 1

    def _manifest(
        self, skills: Mapping[str, StoredSkill], packs: PackWriter, shards: tuple[StoredShard, ...], index: StoredIndex
    ) -> SnapshotManifest:
        sizes = {entry.path.rpartition("/")[2]: entry.size for entry in self._store.list("packs")}
        sizes = sizes if self._lease is not None else {**sizes, **packs.sizes}
        used = sorted({file.pack for skill in skills.values() for file in skill.files if file.size})
        lost = [pack for pack in used if pack not in sizes or packs.sizes.get(pack, sizes[pack]) != sizes[pack]]
        if lost:
            raise StorageUnavailable(self._store.name, f"{pack_path(lost[0])} is not there, though it was written")
        whole = hashlib.sha256()
        for shard in shards:
            whole.update(shard.ref.sha256.encode())
        for ref in (*index.segments, index.statistics):
            whole.update(ref.sha256.encode())
        return SnapshotManifest(
            created_at=dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            digest=f"sha256:{whole.hexdigest()}",
            skills=len(skills),
            bytes=_bytes_of(skills.values()),
            roots=tuple(self._library.roots),
            shards=shards,
            packs=tuple(ObjectRef(pack, sizes[pack]) for pack in used),
            index=index,
        )

    def _commit(self, manifest: SnapshotManifest) -> tuple[CommitPointer, str, tuple[str, ...]]:
        content = manifest_json(manifest)
        # What its readers would refuse is never committed.
        read_manifest(content)
        ref = ObjectRef(hashlib.sha256(content).hexdigest(), len(content))
        listed = ListedSnapshot(
            id=snapshot_id(self._number, ref),
            ref=ref,
            created_at=manifest.created_at,
            skills=manifest.skills,
            bytes=manifest.bytes,
            publisher=self._options.publisher,
            version=version(),
        )
        self._check()
        self._store.put(snapshot_path(listed.id), content)
        self._count(len(content))
        pointer, dropped = self._changed(
            lambda before: replace(before, current=listed.id, snapshots=(listed, *before.snapshots))
        )
        return pointer, listed.id, dropped

    def _changed(self, change: Callable[[CommitPointer], CommitPointer]) -> tuple[CommitPointer, tuple[str, ...]]:
        """Change the pointer, without the snapshots that are too many; return it, and the ids of those."""
        fence = 0 if self._lease is None else self._lease.fence
        dropped: list[str] = []

        def commit(before: CommitPointer) -> CommitPointer:
            # A snapshot that was pinned, or rolled back to, meanwhile stays so; another writer ends this one.
            if before.fence != fence:
                raise LeaseLost(self._store.name)
            after = drop_snapshots(change(before), keep=self._options.keep)
            dropped[:] = [one.id for one in before.snapshots if after.find(one.id) is None]
            return after

        self._check()
        return change_pointer(self._store, commit), tuple(dropped)

    # Writing

    def _check(self) -> None:
        if self._lease is not None:
            self._lease.check()

    def _put_all(self, objects: Sequence[tuple[str, bytes]], step: str) -> None:
        def put(one: tuple[str, bytes]) -> None:
            self._check()
            self._store.put(*one)

        if self._lease is not None:
            with ThreadPoolExecutor(_READS_AT_ONCE, thread_name_prefix="skillhub-upload") as threads:
                for done, _ in enumerate(threads.map(put, objects), 1):
                    self._progress(step, done, len(objects))
        for _, content in objects:
            self._count(len(content))

    def _upload(self, path: str, source: Path, size: int) -> None:
        self._check()
        if self._lease is not None:
            self._store.upload(path, str(source))
        self._count(size)

    def _count(self, size: int) -> None:
        self._transfer.objects += 1
        self._transfer.bytes += size

    def _add(self, transfer: Transfer) -> None:
        self._transfer.objects += transfer.objects
        self._transfer.bytes += transfer.bytes
        self._transfer.known_files = transfer.known_files
        self._transfer.known_bytes = transfer.known_bytes

    def _report(
        self, before: _Before, skills: Mapping[str, StoredSkill], snapshot: str, *, changed: bool
    ) -> PublishReport:
        done = self._transfer
        return PublishReport(
            target=self._store.name,
            snapshot=snapshot,
            changed=changed,
            skills=len(skills),
            files=sum(len(skill.files) for skill in skills.values()),
            bytes=_bytes_of(skills.values()),
            added=len(skills.keys() - before.skills.keys()),
            modified=sum(_is_other(before.skills[key], skill) for key, skill in skills.items() if key in before.skills),
            removed_skills=len(before.skills.keys() - skills.keys()),
            uploaded_objects=done.objects,
            uploaded_bytes=done.bytes,
            known_files=done.known_files,
            known_bytes=done.known_bytes,
            unembedded=sum(not skill.embedded for skill in skills.values())
            if self._library.index.embedding != NO_EMBEDDING
            else 0,
            left_out=tuple(self._left_out),
            kept=len(self._pointer.snapshots),
        )


def _stored(
    skill: SkillToStore,
    files: Sequence[tuple[FileToStore, str]],
    packs: PackWriter,
    mtime_ns: int,
    library: LibraryToStore,
) -> StoredSkill:
    stored = []
    for file, content in files:
        digest, _, size = content.partition(":")
        place = packs.place(digest)
        stored.append(StoredFile(file.path, int(size), digest, file.executable, place.pack, place.offset))
    stamp = skill.skill.stamp
    own = replace(
        skill.skill,
        directory=skill.key,
        root=skill.label,
        stamp=FileStamp(mtime_ns, stamp.size, stamp.content_hash, 0),
    )
    return StoredSkill(
        own,
        tuple(sorted(stored, key=lambda one: one.path)),
        library.index.index.has_vector(skill.skill.directory),
        skill.shape,
    )


def _is_other(before: _Earlier, after: StoredSkill) -> bool:
    """Whether a person would say that the skill changed: its files, not where their bytes lie."""
    return [(one.path, one.sha256, one.executable) for one in before.files] != [
        (one.path, one.sha256, one.executable) for one in after.files
    ]


def _carried_times(skills: Sequence[SkillToStore], before: Mapping[str, _Earlier]) -> dict[str, int]:
    """Return the time of each SKILL.md: that of its first publication, where its bytes are the same.

    A fresh checkout has other times, and would change every skill. Of several skills with one name the times decide who
    answers to it: those keep this machine's times where carried ones would decide otherwise.
    """
    own = {one.key: max(0, one.skill.stamp.mtime_ns) for one in skills}
    carried = dict(own)
    for one in skills:
        earlier = before.get(one.key)
        if earlier is not None and earlier.content_hash == one.skill.stamp.content_hash:
            carried[one.key] = earlier.mtime_ns
    names: dict[tuple[str, str], list[str]] = {}
    for one in skills:
        names.setdefault((one.label, one.skill.name), []).append(one.key)
    for keys in names.values():
        if len(keys) > 1 and _order(keys, own) != _order(keys, carried):
            carried.update((key, own[key]) for key in keys)
    return carried


def _order(keys: Iterable[str], times: Mapping[str, int]) -> list[str]:
    return sorted(keys, key=lambda key: (-times[key], key))


def _difference(before: Mapping[str, _Earlier], rows: Mapping[str, RowToStore]) -> tuple[set[str], set[str]]:
    """Return the keys whose row differs from the earlier snapshot's, and those that are gone."""

    def mark(stored: _Earlier) -> str:
        return RowToStore("", stored.content_hash, stored.embedded).mark

    changed = {key for key, row in rows.items() if key not in before or mark(before[key]) != row.mark}
    return changed, set(before.keys() - rows.keys())


def _shard_count(skills: int, before: SnapshotManifest | None) -> int:
    """Return how many shards there are of so many skills: a power of two."""
    count = 1
    while count * _SHARD_SKILLS < skills:
        count *= 2
    # A library that grows and shrinks around a power of two would have all of them written each time.
    return 2 * count if before is not None and len(before.shards) == 2 * count else count


def _shard_of(key: str, count: int) -> int:
    return int(hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:8], 16) % count


def _by_shard(skills: Mapping[str, StoredSkill], count: int) -> dict[int, list[StoredSkill]]:
    shards: dict[int, list[StoredSkill]] = {number: [] for number in range(count)}
    for key, skill in skills.items():
        shards[_shard_of(key, count)].append(skill)
    return shards


def _shards(skills: Mapping[str, StoredSkill], count: int) -> dict[int, bytes]:
    return {number: shard_json(some) for number, some in _by_shard(skills, count).items()}


def _shard_sizes(skills: Mapping[str, StoredSkill], count: int) -> dict[int, int]:
    return {number: len(some) for number, some in _by_shard(skills, count).items()}


def _bytes_of(skills: Iterable[StoredSkill]) -> int:
    return sum(file.size for skill in skills for file in skill.files)


def _packs_worth_keeping(skills: Iterable[_Earlier], present: Mapping[str, int]) -> set[str]:
    """Return the packs in the storage of which earlier skills use enough; what lies in others is packed anew."""
    contents = {file.sha256: file for skill in skills for file in skill.files}
    used: dict[str, int] = {}
    for file in contents.values():
        used[file.pack] = used.get(file.pack, 0) + file.size
    return {pack for pack, size in used.items() if pack in present and size >= _WORTH_KEEPING * present[pack]}


def _tag(number: int) -> str:
    """Return the tag of the table's version that a snapshot has."""
    return f"snapshot-{number:08d}"
