"""One publication: what differs from the last is written, and then a row of `publications` is the commit.

Until that one write nothing that a reader looks at has changed, so a publisher that is killed, or fails at any step,
leaves the last publication as it was. Of two publishers at once, one takes the next number, and the other begins anew.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skillhub_mcp.errors import LibraryChanging, PublicationBusy, PublicationDamaged, PublicationMissing
from skillhub_mcp.index.filter import PATHS_PER_STATEMENT
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.schema import SCHEMA_VERSION
from skillhub_mcp.index.state_file import entry_to_json
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.index.versions import manifest_name
from skillhub_mcp.skills.model import is_skill_file
from skillhub_mcp.store.contents import ContentLimits, NotPublished, contents_of
from skillhub_mcp.store.library import LibraryToStore, LockedSkill, SkillToStore
from skillhub_mcp.store.records import FORMAT, Publication, StoredFile, StoredObject, digest_of
from skillhub_mcp.store.tables import OtherPublisher, PublicationTables, PublishedRow
from skillhub_mcp.store.targets import FILES, PUBLICATIONS, SKILLS, Target

if TYPE_CHECKING:
    from skillhub_mcp.store.objects import Objects

log = logging.getLogger(__name__)

_TRIES = 3
_NAMED_SKILLS = 3
# What is written at once is a file of the table, of which a reader asks for each.
_ROWS_AT_ONCE = 10 * PATHS_PER_STATEMENT
_UPLOADED_AT_ONCE = 16 * 1024 * 1024
_DAY = 86_400.0
# What says when a file was looked at, and nothing of what it is: each checkout has times of its own.
_OF_A_LOOK = ("mtime_ns", "ctime_ns", "read_at_ns")


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """How to publish. The newest `keep` publications stay, and those of the last `keep_days`.

    With `rebuild` everything is written again, whatever is there.
    """

    keep: int = 10
    keep_days: float = 7.0
    dry_run: bool = False
    rebuild: bool = False
    limits: ContentLimits = field(default_factory=ContentLimits)


@dataclass(frozen=True)
class PublishReport:
    """What one publication did: its `number`, 0 for a dry run; `changed` is False where all was published already.

    `new_files` of `new_bytes` were not there before. `dropped` are numbers of publications that are kept no longer.
    """

    target: str
    number: int
    changed: bool
    skills: int
    files: int
    bytes: int
    added: Sequence[str]
    modified: Sequence[str]
    removed: Sequence[str]
    new_files: int
    new_bytes: int
    unembedded: int
    left_out: Sequence[NotPublished] = ()
    dropped: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A skill as it is published: its files, and the digest that tells one state of it from another."""

    skill: SkillToStore
    files: tuple[StoredFile, ...]
    digest: str


def publish(
    library: LibraryToStore, target: Target, options: PublishOptions, progress: ProgressCallback = no_progress
) -> PublishReport:
    """Publish a library to a target, and return what was done.

    Raises StorageUnavailable, PublicationBusy, LibraryChanging, PublicationDamaged and IndexDamaged.
    """
    for _ in range(_TRIES):
        try:
            return _Publication(library, target, options, progress).publish()
        except OtherPublisher:
            log.info("Another publisher has written to %s meanwhile; this one begins anew", target.name)
    raise PublicationBusy(target.name)


def roll_back(target: Target, number: int) -> Publication:
    """Append a publication that repeats an earlier one, and return it.

    Raises StorageUnavailable, PublicationBusy, PublicationDamaged, and PublicationMissing for one that is not kept.
    """
    tables = PublicationTables(target)
    for _ in range(_TRIES):
        kept = publications(target)
        wanted = next((one for one in kept if one.number == number), None)
        if wanted is None:
            raise PublicationMissing(target.name, number)
        repeated = replace(wanted, number=kept[0].number + 1, created_at=time.time())
        if tables.commit(repeated):
            return repeated
    raise PublicationBusy(target.name)


def publications(target: Target) -> list[Publication]:
    """Return the publications that are kept at a target, the newest first.

    Raises StorageUnavailable, PublicationDamaged and PublicationMissing.
    """
    # Asked first: what the storage refuses is told better than by LanceDB.
    kept = PublicationTables(target).all() if target.objects.list(f"{PUBLICATIONS}.lance") else []
    if not kept:
        raise PublicationMissing(target.name)
    return kept


class _Publication:
    """The steps of one publication."""

    def __init__(
        self, library: LibraryToStore, target: Target, options: PublishOptions, progress: ProgressCallback
    ) -> None:
        self._library = library
        self._target = target
        self._options = options
        self._progress = progress
        self._tables = PublicationTables(target)
        self._left_out = list(library.left_out)
        self._uploaded: dict[str, int] = {}
        self._files_version = 0
        self._uploads = 0
        self._anew = False

    def publish(self) -> PublishReport:
        """Do it, and return what was done."""
        newest, listed = self._newest()
        before: Publication | None = None
        known: Mapping[str, PublishedRow] = {}
        if newest is not None and self._continues(newest, listed):
            table = self._tables.skills(newest)
            if table.dimension == self._library.index.table.dimension:
                before, known = newest, self._tables.published(table)
        present = {file.sha256 for row in known.values() for file in row.files}
        if before is not None:
            self._files_version = before.files_version
        elif not self._options.dry_run:
            self._tables.write_files_anew()
        rows = self._read(present)
        report = self._report(rows, known)
        same = before is not None and not (report.added or report.modified or report.removed)
        if before is not None and same and tuple(self._library.roots) == before.roots:
            return replace(report, number=before.number, changed=False)
        if self._options.dry_run:
            return report
        return self._write(rows, report, before, newest)

    def _newest(self) -> tuple[Publication | None, Mapping[str, int]]:
        listed = self._target.objects.list()
        if not any(path.startswith(f"{PUBLICATIONS}.lance/") for path in listed):
            return None, listed
        try:
            return self._tables.newest(), listed
        except PublicationDamaged:
            if not self._options.rebuild:
                raise
            self._anew = True
            return None, listed

    def _continues(self, newest: Publication, listed: Mapping[str, int]) -> bool:
        """Whether only what differs from a publication has to be written."""
        if newest.is_newer:
            raise PublicationDamaged(
                self._target.name,
                f"publication {newest.number}",
                "was written by a newer SkillHub",
                hint="update skillhub, or publish to another place",
            )
        index = self._library.index
        if self._options.rebuild or (newest.format, newest.schema, newest.embedding) != (
            FORMAT,
            SCHEMA_VERSION,
            index.embedding,
        ):
            return False
        # What a clean-up removed was of earlier versions, and is not missed.
        odd = [path for path, one in newest.objects.items() if listed.get(path, -1) != one.size]
        if not odd or (all(path not in listed for path in odd) and self._tables.is_whole(newest)):
            return True
        log.warning("%s in %s is not what was published, and everything is written again", odd[0], self._target.name)
        return False

    # What is published

    def _read(self, present: set[str]) -> list[_Row]:
        """Read the files of all skills, and upload those that are not there."""
        hashes = _embedded_hashes(self._library.index.table, [one.row for one in self._library.skills])
        pending: dict[str, bytes] = {}
        rows: list[_Row] = []
        changing: list[str] = []
        for done, skill in enumerate(self._library.skills, 1):
            self._progress("reading files", done, len(self._library.skills))
            found = self._files_of(skill)
            if found is None:
                continue
            own = next((file.sha256 for file, _ in found if is_skill_file(file.path)), None)
            stamp = skill.skill.stamp
            if own is None or (stamp.is_of_whole_file and own != stamp.content_hash):
                changing.append(skill.skill.name)
            for file, content in found:
                if file.sha256 not in present:
                    present.add(file.sha256)
                    pending[file.sha256] = content
                    self._uploaded[file.sha256] = file.size
            if sum(map(len, pending.values())) >= _UPLOADED_AT_ONCE:
                self._upload(pending)
            files = tuple(file for file, _ in found)
            rows.append(_Row(skill, files, _row_digest(skill, files, hashes.get(skill.row))))
        if changing:
            raise LibraryChanging(changing[:_NAMED_SKILLS])
        self._upload(pending)
        return rows

    def _files_of(self, skill: SkillToStore) -> list[tuple[StoredFile, bytes]] | None:
        files = []
        locked = LockedSkill(skill.skill, self._library.locked)
        for found in contents_of(skill.skill.directory, name=skill.key, limits=self._options.limits):
            if isinstance(found, NotPublished):
                self._left_out.append(found)
                if is_skill_file(found.path):
                    return None
                continue
            digest = hashlib.sha256(found.content).hexdigest()
            if not locked.takes(found, digest):
                break
            files.append((StoredFile(found.path, digest, len(found.content), found.executable), found.content))
        refused = locked.refusal()
        if refused is not None:
            self._left_out.append(refused)
            return None
        return files

    def _upload(self, pending: dict[str, bytes]) -> None:
        if pending and not self._options.dry_run:
            self._files_version = self._tables.write_files(pending)
            self._uploads += 1
        pending.clear()

    def _report(self, rows: Sequence[_Row], known: Mapping[str, PublishedRow]) -> PublishReport:
        files = [file for row in rows for file in row.files]
        keys = {row.skill.key for row in rows}
        return PublishReport(
            target=self._target.name,
            number=0,
            changed=True,
            skills=len(rows),
            files=len(files),
            bytes=sum(file.size for file in files),
            added=[row.skill.key for row in rows if row.skill.key not in known],
            modified=[
                row.skill.key for row in rows if row.skill.key in known and known[row.skill.key].digest != row.digest
            ],
            removed=sorted(known.keys() - keys),
            new_files=len(self._uploaded),
            new_bytes=sum(self._uploaded.values()),
            unembedded=self._unembedded(rows),
            left_out=tuple(self._left_out),
        )

    def _unembedded(self, rows: Sequence[_Row]) -> int:
        table = self._library.index.table
        if table.dimension is None:
            return 0
        return len({row.skill.row for row in rows}.intersection(table.without_vector("true")))

    # Writing

    def _write(
        self,
        rows: Sequence[_Row],
        report: PublishReport,
        before: Publication | None,
        newest: Publication | None,
    ) -> PublishReport:
        written_at = time.time()
        changed = {*report.added, *report.modified}
        index = self._library.index

        def pieces(schema: Any) -> Iterator[Sequence[Any]]:
            own = [row for row in rows if before is None or row.skill.key in changed]
            return _batches(index.table, own, schema, self._progress)

        if before is None:
            table = self._tables.write_all(pieces, dimension=index.table.dimension, embedding=index.embedding)
        else:
            table = self._tables.write_changes(before, pieces, removed=report.removed)
        # Each step makes one version: with no other between them, no other publisher has written.
        steps = -(-len(changed) // _ROWS_AT_ONCE) + -(-len(report.removed) // PATHS_PER_STATEMENT)
        alone = before is not None and table.version == before.skills_version + steps
        dropped = self._dropped(newest, written_at)
        older_than = None
        if dropped:
            kept = [one for one in self._tables.all() if one not in dropped]
            older_than = dt.timedelta(seconds=written_at - min(one.written_at for one in kept) + 1.0)
            self._files_version = self._clean_files(dropped, kept, rows, older_than)
        table = self._tables.merged(table, older_than=older_than)
        wanted = {row.skill.key: row.digest for row in rows}
        if not (alone or self._tables.digests(table) == wanted) or not self._has_files(rows, before):
            raise OtherPublisher
        publication = Publication(
            number=1 if newest is None else newest.number + 1,
            created_at=time.time(),
            written_at=written_at,
            skills=report.skills,
            files=report.files,
            bytes=report.bytes,
            digest=digest_of(wanted.items()),
            skills_version=table.version,
            files_version=self._files_version or self._tables.write_files({}),
            table_id=table.table_id,
            embedding=index.embedding,
            scale=index.scale,
            roots=tuple(self._library.roots),
        )
        publication = replace(publication, objects=self._objects(publication, before))
        if not self._tables.commit(publication, anew=self._anew):
            raise OtherPublisher
        if dropped:
            self._tables.drop([one.number for one in dropped])
        return replace(report, number=publication.number, dropped=[one.number for one in dropped])

    def _has_files(self, rows: Sequence[_Row], before: Publication | None) -> bool:
        """Whether all files are in the table: another publisher may have begun it anew."""
        if before is not None and self._files_version == before.files_version + self._uploads:
            return True
        return {file.sha256 for row in rows for file in row.files} <= self._tables.file_digests(self._files_version)

    def _objects(self, publication: Publication, before: Publication | None) -> dict[str, StoredObject]:
        """Return what a reader of a publication needs, with digests: what is new is read back."""
        known = {} if before is None else before.objects
        return {
            path: known[path]
            if path in known and known[path].size == size
            else StoredObject(size, object_digest(self._target.objects, path))
            for path, size in self._target.objects.list().items()
            if _is_needed(path, publication)
        }

    # Cleaning up

    def _dropped(self, newest: Publication | None, now: float) -> list[Publication]:
        """Return the publications that are kept no longer; none, where some were dropped within a day."""
        if newest is None:
            return []
        age = self._options.keep_days * _DAY
        times = self._tables.times
        # The one that is being written is kept, too, and what is served until then.
        old = {number for number in sorted(times)[: -max(self._options.keep - 1, 1)] if now - times[number] > age}
        is_due = any(now - times[number] > age + min(age, _DAY) for number in old)
        return [one for one in self._tables.all() if one.number in old] if is_due else []

    def _clean_files(
        self,
        dropped: Sequence[Publication],
        kept: Sequence[Publication],
        rows: Sequence[_Row],
        older_than: dt.timedelta,
    ) -> int:
        """Remove the files that only dropped publications name, and return the version of the table."""
        used = {file.sha256 for row in rows for file in row.files} | self._named_by(kept)
        return self._tables.drop_files(self._named_by(dropped) - used, older_than=older_than)

    def _named_by(self, several: Sequence[Publication]) -> set[str]:
        versions = {(one.table_id, one.skills_version): one for one in several}
        return {
            file.sha256
            for one in versions.values()
            for row in self._tables.published(self._tables.skills(one)).values()
            for file in row.files
        }


def object_digest(objects: Objects, path: str) -> str:
    """Return the SHA-256 of an object. Raises StorageUnavailable."""
    found = hashlib.sha256()
    for chunk in objects.chunks(path):
        found.update(chunk)
    return found.hexdigest()


def _is_needed(path: str, publication: Publication) -> bool:
    table, _, below = path.partition(".lance/")
    version = {SKILLS: publication.skills_version, FILES: publication.files_version}.get(table)
    if version is None or below.startswith("_transactions/"):
        return False
    return not below.startswith("_versions/") or below == f"_versions/{manifest_name(version)}"


def _embedded_hashes(table: TableVersion, keys: Sequence[str]) -> dict[str, str]:
    """Return what was embedded of each row, by its key, where there are vectors."""
    if table.dimension is None:
        return {}
    found: dict[str, str] = {}
    for read in table.rows_of(keys, ["path", "embedded_hash"]):
        found.update(zip(*(read.column(name).to_pylist() for name in ("path", "embedded_hash")), strict=True))
    return found


def _row_digest(skill: SkillToStore, files: Sequence[StoredFile], embedded: str | None) -> str:
    entry = {name: value for name, value in entry_to_json(skill.entry).items() if name not in _OF_A_LOOK}
    told = [skill.key, entry, [[one.path, one.sha256, one.size, one.executable] for one in files], embedded]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _batches(
    table: TableVersion, rows: Sequence[_Row], schema: Any, progress: ProgressCallback
) -> Iterator[Sequence[Any]]:
    """Yield the rows of an index as rows of a publication, in Arrow's batches."""
    import pyarrow as pa

    by_row = {row.skill.row: row for row in rows}
    done = 0
    pending: list[Any] = []
    for read in table.rows_of(list(by_row)):
        own = [by_row[key] for key in read.column("path").to_pylist()]
        columns = {name: read.column(name) for name in read.schema.names}
        columns |= {
            "path": pa.array([row.skill.key for row in own]),
            "root": pa.array([row.skill.label for row in own]),
            "entry": pa.array([json.dumps(entry_to_json(row.skill.entry)) for row in own]),
            "files": pa.array([list(map(_as_value, row.files)) for row in own], schema.field("files").type),
            "digest": pa.array([row.digest for row in own]),
        }
        done += len(own)
        progress("publishing", done, len(rows))
        pending += pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema).to_batches()
        if done % _ROWS_AT_ONCE == 0:
            yield pending
            pending = []
    if done != len(rows):
        # Another process has written the index meanwhile.
        raise LibraryChanging([row.skill.skill.name for row in rows[:_NAMED_SKILLS]])
    if pending:
        yield pending


def _as_value(file: StoredFile) -> dict[str, object]:
    return {"path": file.path, "sha256": file.sha256, "size": file.size, "executable": file.executable}
