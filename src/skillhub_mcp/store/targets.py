"""Where a publication is stored, a directory or a bucket, and its objects, which LanceDB writes and never changes."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import (
    InvalidArgument,
    InvalidSetting,
    StorageNotInstalled,
    StorageRefused,
    StorageUnavailable,
)
from skillhub_mcp.skills.roots import is_at_or_below

FILES, SKILLS, PUBLICATIONS = "files", "skills", "publications"

_VARIABLES: Mapping[str, str] = {"s3": "AWS_*", "gs": "GOOGLE_*", "az": "AZURE_*"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_WHERE = "a directory, or a bucket as s3://, gs:// or az://"
_OWN_NAMES = frozenset(f"{table}.lance" for table in (FILES, SKILLS, PUBLICATIONS))
_NAMED = 3
_CHUNK_BYTES = 1024 * 1024
# LanceDB takes all options together, obstore those of the connection apart.
_OF_THE_CLIENT = re.compile("http[12]_only|(allow|proxy|pool)_.*|(connect_|read_)?timeout|root_certificate|user_agent")
_OF_LANCEDB = frozenset({"client_max_retries", "client_retry_timeout"})
_PREFIX = re.compile("aws_|azure_|google_")
# A storage that does not answer fails within a minute.
_PATIENCE = {"connect_timeout": "5s", "timeout": "30s"}
_LANCEDB_RETRIES = {"client_max_retries": "2", "client_retry_timeout": "40"}
_RETRIES: Mapping[str, Any] = {"max_retries": 2, "retry_timeout": dt.timedelta(seconds=40)}
_STATUS = re.compile(r"status(?: code)?:? (\d{3}[ \w-]*)")
_REFUSALS = ("401", "403")
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
        with self._errors(), open(os.path.join(self.name, *path.split("/")), "rb") as file:
            yield from iter(lambda: file.read(_CHUNK_BYTES), b"")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageUnavailable(self.name, error.strerror or str(error)) from error


class _Bucket(Target):
    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        super().__init__(url, {**_PATIENCE, **_LANCEDB_RETRIES, **options})
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            raise StorageNotInstalled(url) from error
        self._obstore, self._failures = obstore, BaseError
        plain = {_PREFIX.sub("", key.lower()): (key.lower(), value) for key, value in options.items()}
        client = {name: value for name, (_, value) in plain.items() if _OF_THE_CLIENT.fullmatch(name)}
        config = dict(one for name, one in plain.items() if name not in client.keys() | _OF_LANCEDB)
        make: Any = from_url
        try:
            self._store = make(url, config=config, client_options=_PATIENCE | client, retry_config=_RETRIES)
        except (BaseError, ValueError, TypeError) as error:
            name = "SKILLHUB_STORAGE_OPTIONS" if options else _VARIABLES[url.partition("://")[0].lower()]
            hint = "what it does not name comes from AWS_*, GOOGLE_* or AZURE_*: look at these too"
            raise InvalidSetting(name, "***", f"is not understood: {_first_line(error, options)}", hint=hint) from None

    def list(self, prefix: str = "") -> dict[str, int]:
        with self._errors():
            pages = self._obstore.list(self._store, prefix=prefix or None)
            return {one["path"]: one["size"] for page in pages for one in page}

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._errors():
            yield from map(bytes, self._obstore.get(self._store, path).stream())

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


def open_target(target: str, options: Mapping[str, str]) -> Target:
    """Return the storage that `target` names; nothing is read or written yet. `options` are for a bucket.

    Raises InvalidArgument for another kind of target, StorageNotInstalled, and InvalidSetting for `options`.
    """
    if not is_bucket(target):
        found = _SCHEME.match(target)
        if found is not None or not target:
            kind = f"of {found[1]}://" if found else "without a name"
            raise InvalidArgument("TARGET", f"{kind} is none that can be published to", hint=f"name {_WHERE}")
        return Target(os.path.abspath(expand_home(target)), {})
    parts = urlsplit(target)
    if parts.username or parts.password or parts.query or parts.fragment:
        hint = "credentials belong in SKILLHUB_STORAGE_OPTIONS or the environment"
        raise InvalidArgument("TARGET", "has more than a bucket and a prefix, as s3://bucket/prefix", hint=hint)
    if not parts.hostname or not {".", ".."}.isdisjoint(unquote(parts.path).split("/")):
        raise InvalidArgument(
            "TARGET", "is not a bucket and a prefix", hint="name one, as s3://bucket or s3://bucket/prefix"
        )
    return _Bucket(target.rstrip("/"), options)


def is_bucket(target: str) -> bool:
    """Whether a target is the URL of a bucket."""
    found = _SCHEME.match(target)
    return found is not None and found[1].lower() in _VARIABLES


def unfit_reason(target: str) -> str:
    """Return why a target on this machine cannot hold a publication; empty if it can, and for a bucket."""
    try:
        names = set() if is_bucket(target) else set(os.listdir(expand_home(target)))
    except NotADirectoryError:
        return "is no directory"
    except OSError:
        # It does not exist yet, or writing reports what is wrong.
        return ""
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
        kind = StorageRefused if status[1].startswith(_REFUSALS) else StorageUnavailable
        return kind(target.name, f"the storage answered {status[1].strip()}")
    reasons = (reason for pattern, reason in _FAILURES if pattern.search(text))
    return StorageUnavailable(target.name, next(reasons, _first_line(error, target.options)))


def _first_line(error: Exception, options: Mapping[str, str]) -> str:
    shown = next(iter(str(error).splitlines()), type(error).__name__)
    for value in sorted(options.values(), key=len, reverse=True):
        shown = shown.replace(value, "***") if len(value) >= _SHORTEST_SECRET else shown
    return shown[:_SHOWN]
