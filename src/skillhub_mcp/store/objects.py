"""The objects of a publication, which never change once they are written: list them, and read them.

LanceDB writes them. They are read here to record their digests, and to mirror them.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from skillhub_mcp.errors import InvalidSetting, StorageNotInstalled, StorageRefused, StorageUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK_BYTES = 1024 * 1024
# The keys of SKILLHUB_STORAGE_OPTIONS that are about the connection; LanceDB takes all keys together.
_OF_THE_CLIENT = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)
_OF_LANCEDB = frozenset({"client_max_retries", "client_retry_timeout"})
_PREFIXES = ("aws_", "azure_", "google_")
_PATIENCE = {"connect_timeout": "5s", "timeout": "30s"}
_RETRIES: Mapping[str, Any] = {
    "max_retries": 2,
    "backoff": {"init_backoff": dt.timedelta(milliseconds=200), "max_backoff": dt.timedelta(seconds=8), "base": 2},
    "retry_timeout": dt.timedelta(seconds=40),
}
_STATUS = re.compile(r"status(?: code)?:? (\d{3}[ \w-]*)")
_REFUSALS = ("401", "403")
# What S3 and Google, and Azure, answer where the bucket itself is missing.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_NO_SUCH_BUCKET = "there is no such bucket"
_VARIABLES: Mapping[str, str] = {"s3": "AWS_*", "gs": "GOOGLE_*", "az": "AZURE_*"}
_SHOWN = 160


class Objects(Protocol):
    """The objects at one target. Methods raise StorageUnavailable."""

    def list(self, prefix: str = "") -> dict[str, int]:
        """Return the size in bytes of each object by path, of those below a directory if one is given."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object, nothing for one that is not there."""


class DirectoryObjects:
    """The objects of a publication in a directory. See `Objects`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def list(self, prefix: str = "") -> dict[str, int]:
        """Return the size of each object by path."""
        found = {}
        with self._errors():
            for place, _, names in os.walk(os.path.join(self._directory, prefix)):
                for name in names:
                    path = os.path.join(place, name)
                    # LanceDB may replace a file of its own meanwhile.
                    with contextlib.suppress(FileNotFoundError):
                        found[os.path.relpath(path, self._directory).replace(os.sep, "/")] = os.path.getsize(path)
        return found

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object."""
        with self._errors(), contextlib.suppress(FileNotFoundError), open(self._path(path), "rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk

    def _path(self, path: str) -> str:
        return os.path.join(self._directory, *path.split("/"))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageUnavailable(self._directory, error.strerror or str(error)) from error


class BucketObjects:
    """The objects of a publication at a URL such as `s3://bucket/prefix`. See `Objects`.

    `options` are those of the object_store crate, by which LanceDB reaches the bucket too; what they do not name comes
    from the environment. Raises StorageNotInstalled and InvalidSetting.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self._url = url
        self._options = options
        try:
            import obstore
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            raise StorageNotInstalled(url) from error
        self._obstore = obstore
        client: dict[str, Any] = dict(_PATIENCE)
        config: dict[str, Any] = {}
        for key, value in options.items():
            plain = _without_prefix(key)
            if plain in _OF_THE_CLIENT:
                client[plain] = value
            elif plain not in _OF_LANCEDB:
                config[key.lower()] = value
        make: Callable[..., Any] = from_url
        try:
            self._store = make(url, config=config, client_options=client, retry_config=_RETRIES)
        except (BaseError, ValueError, TypeError) as error:
            name = "SKILLHUB_STORAGE_OPTIONS" if options else _VARIABLES[url.partition("://")[0].lower()]
            reason = f"is not understood: {self._first_line(error)}"
            hint = "what it does not name comes from AWS_*, GOOGLE_* or AZURE_*: look at these too"
            raise InvalidSetting(name, "***", reason, hint=hint) from None

    def list(self, prefix: str = "") -> dict[str, int]:
        """Return the size of each object by path."""
        with self._errors():
            pages = self._obstore.list(self._store, prefix=prefix or None)
            return {one["path"]: one["size"] for page in pages for one in page}

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of an object."""
        with self._errors():
            try:
                found = self._obstore.get(self._store, path).stream()
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                return
            for chunk in found:
                yield bytes(chunk)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise unavailable(self._url, error, self._options) from None

    def _first_line(self, error: Exception) -> str:
        return _first_line(error, self._options)


def unavailable(target: str, error: Exception, options: Mapping[str, str]) -> StorageUnavailable:
    """Return a failure of object storage as an error: what the libraries say has whole answers in it, and secrets."""
    text = str(error)
    status = _STATUS.search(text)
    if _is_of_bucket(error):
        return StorageRefused(target, _NO_SUCH_BUCKET)
    if status is not None and status[1][:3] in _REFUSALS:
        return StorageRefused(target, f"the storage answered {status[1].strip()}")
    if status is not None:
        reason = f"the storage answered {status[1].strip()}"
    elif "timed out" in text or "Timeout" in text:
        reason = "the storage did not answer in time"
    elif "response body error" in text:
        reason = "the storage broke its answer off"
    elif "error sending request" in text or "connection" in text.lower():
        reason = "the connection failed"
    else:
        reason = _first_line(error, options)
    return StorageUnavailable(target, reason)


def _first_line(error: Exception, options: Mapping[str, str]) -> str:
    lines = str(error).splitlines()
    shown = lines[0] if lines else type(error).__name__
    for value in sorted(options.values(), key=len, reverse=True):
        shown = shown.replace(value, "***") if len(value) > 3 else shown  # noqa: PLR2004 - no secret is as short
    return shown[:_SHOWN]


def _is_of_bucket(error: Exception) -> bool:
    """Whether it is the bucket that was not found, and not an object in it."""
    return any(code in str(error) for code in _NO_BUCKET)


def _without_prefix(key: str) -> str:
    plain = key.lower()
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain
