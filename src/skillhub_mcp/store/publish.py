"""One publication: what differs from the last is written, and then a row of `publications` is the commit.

Until that one write nothing that a reader looks at has changed, so a publisher that is killed, or fails at any step,
leaves the last publication as it was. Of two publishers at once, one takes the next number, and the other retries.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from skillhub_mcp.errors import (
    LibraryChanging,
    LockUnreadable,
    PathNotAllowed,
    PublicationBusy,
    PublicationMissing,
    SkillChanged,
    SkillFileNotFound,
    SkillHubError,
)
from skillhub_mcp.index.lance import PATHS_PER_STATEMENT, chunks
from skillhub_mcp.index.progress import ProgressCallback, no_progress
from skillhub_mcp.index.state_file import SCHEMA_VERSION, IndexState, entry_to_json, free_label, label_of, make_key
from skillhub_mcp.index.store import manifest_name
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.files.content import read_whole
from skillhub_mcp.skills.model import FileStamp, Skill, is_skill_file
from skillhub_mcp.skills.roots import is_at_or_below
from skillhub_mcp.skills.scanner import CachedSkillFile
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.store.tables import (
    FILES,
    SKILLS,
    Publication,
    PublicationTables,
    PublishedRow,
    StoredFile,
    StoredObject,
    Target,
    digest_of,
    publications,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

NOT_AS_LOCKED = "is not as it was locked"
_MOST_FILES = 512
_MOST_FILE_BYTES = 64 * 1024 * 1024
_MOST_BYTES = 256 * 1024 * 1024
_NOT_LISTED = frozenset({".git", "node_modules", "__pycache__"})
_RETRIES = 2
_NAMED_SKILLS = 3
# What is written at once is a file of the table, of which a reader asks for each.
_ROWS_AT_ONCE = 10 * PATHS_PER_STATEMENT
_UPLOADED_AT_ONCE = 16 * 1024 * 1024
_DAY = 86_400.0


class NotPublished(NamedTuple):
    """What is not published and why: a whole skill, or with a `path`, one of its files or directories."""

    skill: str
    path: str
    reason: str


class SkillToStore(NamedTuple):
    """A skill with its published key, and the key of its row in the index."""

    skill: Skill
    key: str
    row: str
    entry: CachedSkillFile


@dataclass(frozen=True)
class LibraryToStore:
    """Skills by key, the source of each of their roots by label, and what is left out.

    `table` is the version of the index that has the skills, `embedding` that of its vectors, and `as_locked` that of
    the policy.
    """

    skills: Sequence[SkillToStore]
    roots: Mapping[str, str]
    left_out: Sequence[NotPublished]
    table: TableVersion
    embedding: str
    as_locked: Callable[[Skill], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """How to publish. The newest `keep` publications stay, and those of the last `keep_days`.

    With `rebuild` everything is written again, and the list of publications begins with it.
    """

    keep: int = 10
    keep_days: float = 7.0
    dry_run: bool = False
    rebuild: bool = False
    dotfiles: bool = False


@dataclass(frozen=True)
class PublishReport:
    """What one publication did: its `number`, 0 for a dry run; `changed` is False if nothing had to be written.

    `new_files` of `new_bytes` were not there before. `dropped` are numbers of publications that are no longer kept.
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
    left_out: Sequence[NotPublished]
    dropped: Sequence[int] = ()


class _Row(NamedTuple):
    """A skill as it is published: its files, the hash of its text if that has a vector, and the digest of its row."""

    skill: SkillToStore
    files: tuple[StoredFile, ...]
    embedded: str | None
    digest: str


def publish(
    library: LibraryToStore, target: Target, options: PublishOptions, progress: ProgressCallback = no_progress
) -> PublishReport:
    """Publish a library to a target, and return what was done.

    Raises StorageUnavailable, PublicationBusy, LibraryChanging, PublicationDamaged and IndexDamaged.
    """
    return _retried(lambda: _Publication(library, target, options, progress).publish(), target)


def roll_back(target: Target, number: int, *, dry_run: bool = False) -> Publication:
    """Append a publication that repeats an earlier one, and return it; with `dry_run`, write nothing.

    Raises StorageUnavailable, PublicationBusy, PublicationDamaged, and PublicationMissing for one that is not kept.
    """
    return _retried(lambda: _rolled_back(target, number, dry_run=dry_run), target)


def _retried(attempt: Callable[[], T], target: Target) -> T:
    """Return what `attempt` returns, which is made again if another publisher was faster. Raises PublicationBusy."""
    for _ in range(_RETRIES):
        with contextlib.suppress(PublicationBusy):
            return attempt()
        log.info("Another publisher has written to %s meanwhile; retrying", target.name)
    return attempt()


def _rolled_back(target: Target, number: int, *, dry_run: bool) -> Publication:
    kept = publications(target)
    wanted = next((one for one in kept if one.number == number), None)
    if wanted is None:
        raise PublicationMissing(target.name, number)
    wanted.check_readable(target)
    # Clean-ups have removed objects of earlier versions.
    there = target.list()
    objects = {path: one for path, one in wanted.objects.items() if path in there}
    update = {"number": kept[0].number + 1, "created_at": time.time(), "objects": objects}
    repeated = wanted.model_copy(update=update)
    if not dry_run:
        PublicationTables(target).commit(repeated)
    return repeated


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
        self._kept: list[Publication] = []

    def publish(self) -> PublishReport:
        listed = self._target.list()
        fresh = self._options.rebuild
        # LanceDB would create a directory that is not there.
        self._kept = self._tables.all() if listed and not fresh else []
        newest = next(iter(self._kept), None)
        known_objects = {} if newest is None else newest.objects
        if odd := [path for path, one in known_objects.items() if listed.get(path) != one.size]:
            log.warning("%s in %s is damaged; everything is written again", odd[0], self._target.name)
            fresh = True
        before: Publication | None = None
        known: Mapping[str, PublishedRow] = {}
        ours = (SCHEMA_VERSION, self._library.embedding)
        if newest is not None and not fresh and (newest.schema_version, newest.embedding) == ours:
            table = self._tables.skills(newest)
            if table.dimension == self._library.table.dimension:
                before, known = newest, self._tables.published(table)
        rows = self._read(self._tables.files()[1] if listed and not fresh else set(), emptied=fresh)
        report = self._report(rows, known)
        same = before is not None and not (report.added or report.modified or report.removed)
        if before is not None and same and list(self._library.roots.items()) == list(before.roots.items()):
            return replace(report, number=before.number, changed=False)
        return report if self._options.dry_run else self._write(rows, report, before)

    # What is published

    def _read(self, present: set[str], *, emptied: bool) -> list[_Row]:
        """Read the files of all skills, and upload those that are not `present`, with `emptied` to an empty table."""
        table, columns = self._library.table, ["path", "embedded_hash"]
        keys = [] if table.dimension is None else [one.row for one in self._library.skills]
        hashes = {
            row["path"]: row["embedded_hash"] for read in table.rows_of(keys, columns) for row in read.to_pylist()
        }
        pending: dict[str, bytes] = {}
        rows: list[_Row] = []

        def upload() -> None:
            if pending and not self._options.dry_run:
                self._tables.write_files(pending, emptied=emptied and not self._uploaded)
            self._uploaded.update((digest, len(content)) for digest, content in pending.items())
            pending.clear()

        for done, skill in enumerate(self._library.skills, 1):
            self._progress("reading files", done, len(self._library.skills))
            found = self._files_of(skill)
            if found is None:
                continue
            own = next((file.sha256 for file in found if is_skill_file(file.path)), None)
            stamp = skill.skill.stamp
            if own is None or (stamp.is_of_whole_file and own != stamp.content_hash):
                raise LibraryChanging([skill.skill.name])
            new = {file.sha256: content for file, content in found.items() if file.sha256 not in present}
            present.update(new)
            pending |= new
            if sum(map(len, pending.values())) >= _UPLOADED_AT_ONCE:
                upload()
            files, embedded = tuple(found), hashes.get(skill.row)
            # Each checkout has times of its own.
            entry = entry_to_json(replace(skill.entry, stamp=FileStamp(0, stamp.size, stamp.content_hash, 0)))
            digest = digest_of([json.dumps([skill.key, entry, files, embedded], sort_keys=True).encode()])
            rows.append(_Row(skill, files, embedded, digest))
        upload()
        return rows

    def _files_of(self, skill: SkillToStore) -> dict[StoredFile, bytes] | None:
        """Return the files of a skill with their bytes, None for a skill that is left out."""
        try:
            with self._library.as_locked(skill.skill):
                files, left_out = contents_of(skill.skill.directory, name=skill.key, dotfiles=self._options.dotfiles)
        except (SkillChanged, LockUnreadable):
            self._left_out.append(NotPublished(skill.skill.name, "", NOT_AS_LOCKED))
            return None
        self._left_out += left_out
        return None if any(is_skill_file(one.path) for one in left_out) else files

    def _report(self, rows: Sequence[_Row], known: Mapping[str, PublishedRow]) -> PublishReport:
        files = [file for row in rows for file in row.files]
        digests = {row.skill.key: row.digest for row in rows}
        has_vectors = self._library.table.dimension is not None
        return PublishReport(
            target=self._target.name,
            number=0,
            changed=True,
            skills=len(rows),
            files=len(files),
            bytes=sum(file.size for file in files),
            added=[key for key in digests if key not in known],
            modified=[key for key, digest in digests.items() if key in known and known[key].digest != digest],
            removed=sorted(known.keys() - digests.keys()),
            new_files=len(self._uploaded),
            new_bytes=sum(self._uploaded.values()),
            unembedded=sum(row.embedded is None for row in rows) if has_vectors else 0,
            left_out=tuple(self._left_out),
        )

    # Writing

    def _write(self, rows: Sequence[_Row], report: PublishReport, before: Publication | None) -> PublishReport:
        written_at = time.time()
        changed = {*report.added, *report.modified}

        def pieces(schema: Any) -> Iterator[Any]:
            own = [row for row in rows if before is None or row.skill.key in changed]
            return _tables(self._library.table, own, schema, self._progress)

        table = self._tables.write_skills(before, pieces, removed=report.removed, like=self._library.table)
        files = {file.sha256 for row in rows for file in row.files}
        dropped = self._dropped(written_at)
        older_than = None
        if dropped:
            kept = [one for one in self._tables.all() if one.number not in dropped]
            older_than = dt.timedelta(seconds=written_at - min(one.written_at for one in kept) + 1.0)
            rows_of_kept = [row for one in kept for row in self._tables.published(self._tables.skills(one)).values()]
            used = files | {file.sha256 for row in rows_of_kept for file in row.files}
            self._tables.drop_files(self._tables.files()[1] - used, older_than=older_than)
        table = self._tables.merged(table, older_than=older_than)
        digests = {row.skill.key: row.digest for row in rows}
        written = {key: row.digest for key, row in self._tables.published(table).items()}
        files_version, stored = self._tables.files()
        # LanceDB lets publishers write to one table by turns.
        if written != digests or not files <= stored:
            raise PublicationBusy(self._target.name)
        publication = Publication(
            number=1 + max((one.number for one in self._kept), default=0),
            created_at=time.time(),
            skills=report.skills,
            files=report.files,
            bytes=report.bytes,
            digest=digest_of(f"{key}\0{digest}\n".encode() for key, digest in sorted(digests.items())),
            skills_version=table.version,
            files_version=files_version,
            table_id=table.table_id,
            embedding=self._library.embedding,
            written_at=written_at,
            roots=self._library.roots,
            objects=self._objects({SKILLS: table.version, FILES: files_version}, before),
        )
        self._tables.commit(publication, emptied=self._options.rebuild, dropped=dropped)
        return replace(report, number=publication.number, dropped=sorted(dropped))

    def _objects(self, versions: Mapping[str, int], before: Publication | None) -> dict[str, StoredObject]:
        """Return what a reader of some versions of the tables needs, with digests: what is new is read back."""
        known = {} if before is None else before.objects
        try:
            return {
                path: known.get(path) or StoredObject(size, digest_of(self._target.chunks(path)))
                for path, size in self._target.list().items()
                if _is_needed(path, versions)
            }
        except FileNotFoundError as error:
            raise PublicationBusy(self._target.name) from error

    # Cleaning up

    def _dropped(self, now: float) -> set[int]:
        """Return the publications that are no longer kept; none until one of them is a day beyond its time."""
        age = self._options.keep_days * _DAY
        # The one that is being written is kept, too, and what is served until then.
        old = self._kept[max(self._options.keep - 1, 1) :]
        dropped = {one.number: now - one.created_at for one in old if now - one.created_at > age}
        return set(dropped) if max(dropped.values(), default=0.0) > age + min(age, _DAY) else set()


def _is_needed(path: str, versions: Mapping[str, int]) -> bool:
    table, _, below = path.partition(".lance/")
    if table not in versions or below.startswith("_transactions/"):
        return False
    return not below.startswith("_versions/") or below == f"_versions/{manifest_name(versions[table])}"


def _tables(table: TableVersion, rows: Sequence[_Row], schema: Any, progress: ProgressCallback) -> Iterator[Any]:
    """Yield the rows of an index as rows of a publication, in Arrow's tables."""
    import pyarrow as pa

    done = 0
    for some in chunks(rows, _ROWS_AT_ONCE):
        by_row = {row.skill.row: row for row in some}
        read = pa.concat_tables(list(table.rows_of(list(by_row))))
        if len(read) != len(some):
            # Another process has written the index meanwhile.
            raise LibraryChanging([row.skill.skill.name for row in rows[:_NAMED_SKILLS]])
        own = [by_row[key] for key in read.column("path").to_pylist()]
        columns = {name: read.column(name) for name in read.schema.names}
        columns |= {
            "path": pa.array([row.skill.key for row in own]),
            "root": pa.array([label_of(row.skill.key) for row in own]),
            "entry": pa.array([json.dumps(entry_to_json(row.skill.entry)) for row in own]),
            "files": pa.array([[file._asdict() for file in row.files] for row in own], schema.field("files").type),
            "digest": pa.array([row.digest for row in own]),
        }
        done += len(own)
        progress("publishing", done, len(rows))
        yield pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)


def library_to_store(snapshot: Snapshot, policy: Policy, state: IndexState, table: TableVersion) -> LibraryToStore:
    """Return what `policy` serves of a snapshot, except what awaits trust. Shadowed skills are published too.

    `state` is that of the index of the snapshot, and `table` its version.
    """
    report = snapshot.report
    labels = {path: root.label for path, root in state.roots.items()}
    rows = state.rows
    entries = state.memory_of(report.roots)
    # Paths of this machine stay here: a skill that could not be read is named by its directory.
    left_out = [
        NotPublished(os.path.basename(one.directory), "", f"is refused: {one.reason.rule}, {one.reason.message}")
        for one in report.refused
    ]
    left_out += [NotPublished(os.path.basename(one.subject), "", one.message) for one in report.problems]
    skills: dict[str, SkillToStore] = {}
    # What lies below its root gets its key before what only a link leads to.
    for skill in sorted(
        snapshot.everything, key=lambda one: (not is_at_or_below(one.directory, one.root), one.directory)
    ):
        row, entry = make_key(labels[skill.root], skill.root, skill.directory), entries.get(skill.directory)
        reason = _reason(skill, policy)
        if reason is not None or row not in rows or entry is None:
            left_out.append(NotPublished(skill.name, "", reason or "is not in the index"))
            continue
        key = row
        if not is_at_or_below(skill.directory, skill.root):
            # A link leads out of the root: where to is this machine's own affair.
            key = free_label(f"{labels[skill.root]}/{os.path.basename(skill.directory)}", skills)
        skills[key] = SkillToStore(skill, key, row, entry)
    used = set(map(label_of, skills))
    return LibraryToStore(
        skills=[skills[key] for key in sorted(skills)],
        roots={label: root.source.value for root in report.roots if (label := labels[root.path]) in used},
        left_out=left_out,
        table=table,
        embedding=state.embedder,
        as_locked=policy.as_locked,
    )


def _reason(skill: Skill, policy: Policy) -> str | None:
    availability = Availability.UNTRUSTED if skill.awaits_trust else policy.availability(skill)
    try:
        if policy.audit is not None and policy.audit.withholds(skill, now=True) is not None:
            availability = Availability.WITHHELD
    except SkillHubError as error:
        return f"cannot be audited: {error.message}"
    if availability is not Availability.ON:
        return f"is {availability.value}"
    return None if policy.is_as_locked(skill) else NOT_AS_LOCKED


def contents_of(directory: str, *, name: str, dotfiles: bool) -> tuple[dict[StoredFile, bytes], list[NotPublished]]:
    """Return the files of the skill in `directory` with their bytes, and those that are left out."""
    files: dict[StoredFile, bytes] = {}
    left_out: list[NotPublished] = []
    left = _MOST_BYTES
    for place, directories, names in os.walk(directory):
        directories[:] = sorted(
            one for one in directories if one not in _NOT_LISTED and (dotfiles or not one.startswith("."))
        )
        for file in (os.path.join(place, one) for one in sorted(names)):
            path = os.path.relpath(file, directory).replace(os.sep, "/")
            if len(files) == _MOST_FILES:
                left_out.append(NotPublished(name, path, f"is beyond {_MOST_FILES:,} files"))
                continue
            try:
                most = min(_MOST_FILE_BYTES, left)
                content = read_whole(directory, path, skill=name, max_bytes=most, serve_dotfiles=dotfiles)
                executable = bool(os.stat(file).st_mode & stat.S_IXUSR)
            except (PathNotAllowed, SkillFileNotFound) as error:
                left_out.append(NotPublished(name, path, error.reason))
            except OSError as error:
                left_out.append(NotPublished(name, path, f"cannot be read ({error.strerror})"))
            else:
                left -= len(content)
                files[StoredFile(path, digest_of([content]), len(content), executable)] = content
    return files, left_out
