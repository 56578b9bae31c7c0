"""The three tables of a publication, which any program with LanceDB can open.

`files` has the bytes of each file by their SHA-256, `skills` a row for each skill as an index has it, with its files
and its parsed header, and `publications` what was published. They are written in this order. LanceDB has no transaction
over tables, so the newest row of `publications` is the commit: it names the versions of the other two.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from shlex import quote
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import (
    InvalidArgument,
    InvalidSetting,
    PublicationBusy,
    PublicationDamaged,
    PublicationMissing,
    StorageRefused,
    StorageUnavailable,
)
from skillhub_mcp.index.lance import IndexDamaged, NoRoom, chunks, connect, is_in, run
from skillhub_mcp.index.schema import UNIQUE, table_schema
from skillhub_mcp.index.state_file import SCHEMA_VERSION
from skillhub_mcp.index.store import MANY, Store
from skillhub_mcp.index.table import TableVersion
from skillhub_mcp.skills.roots import is_at_or_below

FILES, SKILLS, PUBLICATIONS = "files", "skills", "publications"

_BUCKETS = frozenset({"s3", "gs", "az"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_WHERE = "a directory, or a bucket as s3://, gs:// or az://"
_OWN_NAMES = frozenset(f"{table}.lance" for table in (FILES, SKILLS, PUBLICATIONS))
_NAMED = 3
CHUNK_BYTES = 1024 * 1024
# LanceDB takes all options together, obstore those of the connection apart.
_OF_THE_CLIENT = re.compile("http[12]_only|(allow|proxy|pool)_.*|(connect_|read_)?timeout|root_certificate|user_agent")
_OF_LANCEDB = frozenset({"client_max_retries", "client_retry_timeout"})
_PREFIX = re.compile("aws_|azure_|google_")
# A storage that does not answer fails within a minute.
_PATIENCE = {"connect_timeout": "5s", "timeout": "30s"}
_LANCEDB_RETRIES = {"client_max_retries": "2", "client_retry_timeout": "40"}
_RETRIES: Mapping[str, Any] = {"max_retries": 2, "retry_timeout": dt.timedelta(seconds=40)}
_STATUS = re.compile(r"status(?: code)?:? (\d{3}[ \w-]*)")
# What S3 and Google, and Azure, answer if the bucket itself is missing.
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound")
_FAILURES = (
    (re.compile("timed out|Timeout"), "the storage did not answer in time"),
    (re.compile("response body error"), "the storage broke its answer off"),
    (re.compile("error sending request|[Cc]onnection"), "the connection failed"),
)
_SHOWN = 160
_SHORTEST_SECRET = 4


class Target:
    """A directory, or as a subclass a bucket, with a publication: its path or URL without secrets, and its objects.

    LanceDB reaches it by `options`. Methods raise StorageUnavailable.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.options = options
        self._failures: type[Exception] = OSError

    def list(self, prefix: str = "") -> dict[str, int]:
        """Return the size in bytes of each object below a prefix by path."""
        found = {}
        with self._errors():
            for place, _, names in os.walk(os.path.join(self.name, prefix)):
                for path in (os.path.join(place, name) for name in names):
                    # LanceDB may replace a file meanwhile.
                    with contextlib.suppress(FileNotFoundError):
                        found[os.path.relpath(path, self.name).replace(os.sep, "/")] = os.path.getsize(path)
        return found

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object. Raises FileNotFoundError."""
        with self._errors(), open(os.path.join(self.name, path), "rb") as file:
            yield from iter(lambda: file.read(CHUNK_BYTES), b"")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if _NO_BUCKET.search(str(error)):
                raise unavailable(self, error) from None
            raise
        except self._failures as error:
            raise unavailable(self, error) from None


class _Bucket(Target):
    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        super().__init__(url, {**_PATIENCE, **_LANCEDB_RETRIES, **options})
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            hint = "install SkillHub with its extra 'storage', or name a directory"
            raise StorageUnavailable(url, "the package obstore is not installed", hint=hint) from error
        self._obstore, self._failures = obstore, BaseError
        plain = {_PREFIX.sub("", key.lower()): (key.lower(), value) for key, value in options.items()}
        client = {name: value for name, (_, value) in plain.items() if _OF_THE_CLIENT.fullmatch(name)}
        config = dict(one for name, one in plain.items() if name not in client.keys() | _OF_LANCEDB)
        make: Any = from_url
        try:
            self._store = make(url, config=config, client_options=_PATIENCE | client, retry_config=_RETRIES)
        except (BaseError, ValueError, TypeError) as error:
            reason = f"is not understood: {_first_line(error, options)}"
            hint = "what it does not name comes from AWS_*, GOOGLE_* or AZURE_*: look at these too"
            raise InvalidSetting("SKILLHUB_STORAGE_OPTIONS", "***", reason, hint=hint) from None

    def list(self, prefix: str = "") -> dict[str, int]:
        with self._errors():
            pages = self._obstore.list(self._store, prefix=prefix or None)
            return {one["path"]: one["size"] for page in pages for one in page}

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._errors():
            yield from map(bytes, self._obstore.get(self._store, path).stream())


def open_target(target: str, options: Mapping[str, str]) -> Target:
    """Return the storage that `target` names; nothing is read or written yet. `options` are for a bucket.

    Raises InvalidArgument for another kind of target, StorageUnavailable, and InvalidSetting for `options`.
    """
    if not is_bucket(target):
        found = _SCHEME.match(target)
        if found is not None or not target:
            kind = f"of {found[1]}://" if found else "without a name"
            raise InvalidArgument("TARGET", f"{kind} is none that can be published to", hint=f"name {_WHERE}")
        return Target(os.path.abspath(expand_home(target)), {})
    parts = urlsplit(target)
    more = parts.username or parts.password or parts.query or parts.fragment
    if more or not parts.hostname or not {".", ".."}.isdisjoint(unquote(parts.path).split("/")):
        hint = "credentials belong in SKILLHUB_STORAGE_OPTIONS or the environment"
        raise InvalidArgument("TARGET", "is not a bucket and a prefix, as s3://bucket/prefix", hint=hint)
    return _Bucket(target.rstrip("/"), options)


def is_bucket(target: str) -> bool:
    """Whether a target is the URL of a bucket."""
    found = _SCHEME.match(target)
    return found is not None and found[1].lower() in _BUCKETS


def unfit_reason(target: str) -> str:
    """Return why a target on this machine cannot hold a publication; empty if it can, and for a bucket."""
    try:
        names = set() if is_bucket(target) else set(os.listdir(expand_home(target)))
    except OSError as error:
        # It does not exist yet, or writing reports what is wrong.
        return "is not a directory" if isinstance(error, NotADirectoryError) else ""
    foreign = [] if names & _OWN_NAMES else sorted(names)[:_NAMED]
    return f"holds {', '.join(map(repr, foreign))}, and no publication" if foreign else ""


def lies_in(target: str, directory: str) -> bool:
    """Whether a target on this machine is a directory or lies in it, whatever links lead there."""
    return not is_bucket(target) and is_at_or_below(os.path.realpath(expand_home(target)), os.path.realpath(directory))


def digest_of(chunks: Iterable[bytes]) -> str:
    """Return the SHA-256 of the bytes in `chunks`."""
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()


def unavailable(target: Target, error: Exception) -> StorageUnavailable:
    """Return a failure of storage as an error: the libraries' messages have whole answers in them, and secrets."""
    text = str(error)
    if _NO_BUCKET.search(text):
        return StorageRefused(target.name, "there is no such bucket")
    if status := _STATUS.search(text):
        kind = StorageRefused if status[1].startswith(("401", "403")) else StorageUnavailable
        return kind(target.name, f"the storage answered {status[1].strip()}")
    reasons = (reason for pattern, reason in _FAILURES if pattern.search(text))
    return StorageUnavailable(target.name, next(reasons, _first_line(error, target.options)))


def _first_line(error: Exception, options: Mapping[str, str]) -> str:
    own = error.strerror if isinstance(error, OSError) else None
    shown = own or next(iter(str(error).splitlines()), type(error).__name__)
    for value in sorted(options.values(), key=len, reverse=True):
        shown = shown.replace(value, "***") if len(value) >= _SHORTEST_SECRET else shown
    return shown[:_SHOWN]


# The columns of the table; the rest is JSON in `details`.
PLAIN = ("number", "created_at", "skills", "files", "bytes", "digest", "skills_version", "files_version")

# How LanceDB's messages say that the storage fails, and not what is stored.
_OF_STORAGE = re.compile(
    r"Generic (S3|GCS|MicrosoftAzure|HTTP)|status(?: code)?:? \d{3}|timed? ?out|sending request|onnection"
)
# Two writers at once: one of them has to begin again. A table that was just begun has no index yet.
_OF_CONFLICT = re.compile(
    r"concurrent transaction|commit conflict|Too many concurrent writers|schema does not match"
    r"|full-text index is missing"
)
# Of a directory. A missing file (2) is damage.
_OF_DISK = re.compile(r"(?:os error |Os \{ code: )(?!2\b)(\d+)")
# Rows of `publications` that a reader may be about to read.
_READ_FOR = dt.timedelta(hours=1)
_MERGED_EVERY = 5


class StoredFile(NamedTuple):
    """A file of a skill: its path below the skill's directory, and the SHA-256 by which `files` has its bytes."""

    path: str
    sha256: str
    size: int
    executable: bool


class StoredObject(NamedTuple):
    """The size in bytes of one of LanceDB's objects, and its SHA-256."""

    size: int
    sha256: str


class Publication(BaseModel, frozen=True):
    """A publication: versions of `skills` and `files`, what they hold, and the objects that a reader needs.

    `created_at` is when it was published and `written_at` when its rows were written, in seconds since 1970; a rollback
    repeats the rows of an earlier one. `digest` covers all rows. `embedding` identifies the embedder of the vectors,
    and `roots` has the source of each root by label, in order.
    Until a clean-up, objects of earlier versions are among `objects`.
    """

    number: int
    created_at: float
    skills: int
    files: int
    bytes: int
    digest: str
    skills_version: int
    files_version: int
    table_id: str
    embedding: str
    written_at: float
    roots: Mapping[str, str]
    objects: Mapping[str, StoredObject] = {}
    schema_version: int = SCHEMA_VERSION

    @property
    def is_readable(self) -> bool:
        """Whether this version of SkillHub reads what it holds."""
        return self.schema_version == SCHEMA_VERSION

    def check_readable(self, target: Target) -> None:
        """Raise PublicationDamaged if another version of SkillHub wrote it."""
        if not self.is_readable:
            is_newer = self.schema_version > SCHEMA_VERSION
            reason = f"was written by {'a newer' if is_newer else 'an older'} SkillHub"
            hint = "update skillhub" if is_newer else f"skillhub publish {quote(target.name)} writes another"
            raise PublicationDamaged(target.name, f"publication {self.number}", reason, hint=hint)

    def as_row(self) -> dict[str, Any]:
        """Return it as a row."""
        plain = {name: getattr(self, name) for name in PLAIN}
        return plain | {"details": self.model_dump_json(exclude=set(PLAIN))}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Publication:
        """Return the publication of a row. Raises ValueError, LookupError or TypeError for an invalid row."""
        return cls.model_validate({**json.loads(row["details"]), **{name: row[name] for name in PLAIN}})


class PublishedRow(NamedTuple):
    """The digest of a row of `skills`, and the files of the skill."""

    digest: str
    files: tuple[StoredFile, ...]


class PublicationTables:
    """The tables at a target. Methods raise StorageUnavailable and PublicationDamaged, on writing PublicationBusy."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._skills = Store(target.name, SKILLS, options=target.options, private=False)
        self._connection: Any = None

    # publications

    def all(self) -> list[Publication]:
        """Return the publications that are kept, the newest first.

        Raises PublicationDamaged for one that a newer SkillHub wrote.
        """
        with self._errors(PUBLICATIONS):
            rows = self._rows(PUBLICATIONS, [*PLAIN, "details"])[1]
            found = sorted(map(Publication.from_row, rows), key=lambda one: -one.number)
        if found and found[0].schema_version > SCHEMA_VERSION:
            found[0].check_readable(self._target)
        return found

    def commit(
        self, publication: Publication, *, emptied: bool = False, dropped: Collection[int] = frozenset()
    ) -> None:
        """Append a publication, with `emptied` to an empty table, and then remove others by number.

        Raises PublicationBusy if another publisher has taken its number.
        """
        import pyarrow as pa

        row = pa.Table.from_pylist([publication.as_row()])
        schema = row.schema.set(0, pa.field("number", pa.int64(), nullable=False, metadata=UNIQUE))

        async def commit() -> None:
            table = await self._table(PUBLICATIONS, schema, emptied=emptied)
            done = await table.merge_insert("number").when_not_matched_insert_all().execute(row.cast(schema))
            if not done.num_inserted_rows:
                raise PublicationBusy(self._target.name)
            if dropped:
                await table.delete(f"number IN ({','.join(map(str, sorted(dropped)))})")
            if publication.number % _MERGED_EVERY == 0:
                # Each row is a file of its own, and all are read to find the newest.
                await table.optimize(cleanup_older_than=_READ_FOR)

        with self._errors(PUBLICATIONS):
            run(commit())

    # skills

    def skills(self, publication: Publication) -> TableVersion:
        """Return the rows of a publication."""
        with self._errors(SKILLS):
            return self._skills.open(publication.skills_version, created_as=publication.table_id)

    def published(self, table: TableVersion) -> dict[str, PublishedRow]:
        """Return the digest and the files of each row by key."""
        with self._errors(SKILLS):
            return published_rows(table)

    def write_skills(
        self,
        before: Publication | None,
        pieces: Callable[[Any], Iterator[Any]],
        *,
        removed: Collection[str],
        like: TableVersion,
    ) -> TableVersion:
        """Write the rows that differ from a publication and remove those with some keys; without one, write all.

        A new table has the columns of the index `like`, with header, files and digest of each row.
        """
        import pyarrow as pa

        kinds = {"path": pa.string(), "sha256": pa.string(), "size": pa.int64(), "executable": pa.bool_()}
        file = pa.struct(list(kinds.items()))
        with self._errors(SKILLS):
            if before is not None:
                schema = self._skills.open(before.skills_version).schema
                return self._skills.update(before.skills_version, pieces(schema), removed=removed)
            more = [pa.field("entry", pa.string()), pa.field("files", pa.list_(file)), pa.field("digest", pa.string())]
            schema = table_schema(like.dimension, more=more)
            run(self._table(SKILLS, schema))
            return self._skills.rebuild(pieces, schema)

    def merged(self, version: TableVersion, *, older_than: dt.timedelta | None) -> TableVersion:
        """Return the version with its rows in the indexes, if many are not; with an age, older ones are removed."""
        with self._errors(SKILLS):
            if older_than is not None:
                return self._skills.merge(version.version, older_than=older_than)
            return self._skills.merge(version.version) if version.unmerged() > MANY else version

    # files

    def files(self) -> tuple[int, set[str]]:
        """Return the newest version of the table, and the SHA-256 of each file in it."""
        version, rows = self._rows(FILES, ["sha256"])
        return version, {row["sha256"] for row in rows}

    def write_files(self, contents: Mapping[str, bytes], *, emptied: bool = False) -> None:
        """Write the bytes of files by their SHA-256, with `emptied` to an empty table."""
        import pyarrow as pa

        key = pa.field("sha256", pa.string(), nullable=False, metadata=UNIQUE)
        schema = pa.schema([key, pa.field("content", pa.large_binary())])
        columns = [pa.array(list(contents), pa.string()), pa.array(list(contents.values()), pa.large_binary())]
        with self._errors(FILES):
            table = run(self._table(FILES, schema, emptied=emptied))
            rows = pa.Table.from_arrays(columns, schema=schema)
            run(table.merge_insert("sha256").when_not_matched_insert_all().execute(rows))

    def drop_files(self, digests: Collection[str], *, older_than: dt.timedelta) -> None:
        """Remove files by their SHA-256, and versions of that age."""
        with self._errors(FILES):
            table = run(self._table(FILES))
            for some in chunks(sorted(digests)):
                run(table.delete(is_in("sha256", some)))
            run(table.optimize(cleanup_older_than=older_than))

    def _rows(self, name: str, columns: list[str]) -> tuple[int, list[dict[str, Any]]]:
        """Return the newest version of a table and some columns of its rows; version 0 if there is no table."""

        async def read() -> tuple[int, list[dict[str, Any]]]:
            table = await self._table(name)
            if table is None:
                return 0, []
            found = await table.query().select(columns).to_arrow()
            return await table.version(), found.to_pylist()

        with self._errors(name):
            return run(read())

    async def _table(self, name: str, schema: Any = None, *, emptied: bool = False) -> Any:
        """Return the newest version of a table, None if there is none; with a schema, create it or overwrite it."""
        if self._connection is None:
            self._connection = await connect(self._target.name, self._target.options)
        try:
            table = await self._connection.open_table(name)
        except ValueError as error:
            if "not found" not in str(error):
                raise
            # Not overwritten at once: LanceDB panics if another writer creates it meanwhile.
            table = schema and await self._connection.create_table(name, schema=schema, exist_ok=True)
        return await self._connection.create_table(name, schema=schema, mode="overwrite") if emptied else table

    @contextlib.contextmanager
    def _errors(self, part: str) -> Iterator[None]:
        """Raise LanceDB's errors about one of the tables as those of the storage, the publication or its publishers."""
        name = self._target.name
        try:
            yield
        except NoRoom as error:
            raise StorageUnavailable(name, str(error)) from error
        except IndexDamaged as error:
            if _OF_CONFLICT.search(str(error)):
                raise PublicationBusy(name) from error
            if _OF_STORAGE.search(str(error)):
                raise unavailable(self._target, error) from error
            if found := _OF_DISK.search(str(error)):
                raise StorageUnavailable(name, os.strerror(int(found[1]))) from error
            raise PublicationDamaged(name, f"the table {part!r}", f"cannot be used: {error}") from error
        except (ValueError, LookupError, TypeError) as error:
            raise PublicationDamaged(name, f"the table {part!r}", f"has something else in it: {error}") from error


def publications(target: Target) -> list[Publication]:
    """Return the publications that are kept at a target, the newest first. Raises PublicationMissing for none."""
    # Listed first, because a storage that refuses gives a better reason than LanceDB.
    kept = PublicationTables(target).all() if target.list(f"{PUBLICATIONS}.lance") else []
    if not kept:
        raise PublicationMissing(target.name)
    return kept


def published_rows(table: TableVersion) -> dict[str, PublishedRow]:
    """Return the digest and the files of each row of `skills` by key. Raises IndexDamaged."""
    return {
        row["path"]: PublishedRow(row["digest"], tuple(StoredFile(**file) for file in row["files"]))
        for row in table.read(["path", "digest", "files"]).to_pylist()
    }
