"""A publication in a bucket: s3://, gs:// and az://, through obstore. Only this module knows it."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from skillhub_mcp.errors import InvalidSetting, StorageNotInstalled, StorageRefused, StorageUnavailable
from skillhub_mcp.storage.object_store import PATIENT, Patience, PutConflict, StoredEntry, StoredObject, without_options

if TYPE_CHECKING:
    from obstore import GetOptions

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
_PREFIXES = ("aws_", "azure_", "google_")
_CONNECT_TIMEOUT = "5s"
_BACKOFF = {"init_backoff": dt.timedelta(milliseconds=200), "max_backoff": dt.timedelta(seconds=8), "base": 2}
# What is larger is sent in parts, which never are in memory together.
_PART_BYTES = 16 * 1024 * 1024
_PARTS_AT_ONCE = 3
_STATUS = re.compile(r"status code: (\d{3}[ \w-]*)")
_TRIES = re.compile(r"after (\d+) retries")
_REFUSALS = ("401", "403")
# What S3 and Google, and Azure, answer where the bucket itself is missing.
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_NO_SUCH_BUCKET = "there is no such bucket"
# What the library says of what is missing: the variable, the option, and what it is needed for.
_MISSING: Mapping[str, tuple[str, str, str]] = {
    "Missing AccessKeyId": ("AWS_ACCESS_KEY_ID", "access_key_id", "a secret access key is of no use without it"),
    "Missing SecretAccessKey": (
        "AWS_SECRET_ACCESS_KEY",
        "secret_access_key",
        "an access key id is of none without it",
    ),
    "Account must be specified": ("AZURE_STORAGE_ACCOUNT_NAME", "account_name", "it says where the container is"),
}
_VARIABLES: Mapping[str, str] = {"s3": "AWS_*", "gs": "GOOGLE_*", "az": "AZURE_*"}
_AND_GENERATION = " of generation "
_SHOWN = 160
_SLOW_SECONDS = 5.0


class BucketStore:
    """An ObjectStore at a URL such as `s3://bucket/prefix`.

    `options` are those of the object_store crate, by which LanceDB reaches the bucket too; without them it looks at
    the environment. `on_slow` is called once, with the name, if no request has been answered yet and one takes seconds.
    Raises StorageNotInstalled and InvalidSetting.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, str],
        patience: Patience = PATIENT,
        on_slow: Callable[[str], None] | None = None,
    ) -> None:
        self._on_slow = on_slow
        self._name = url.rstrip("/")
        # Google compares generations where S3 and Azure compare ETags: there a tag is both, the ETag for reading.
        self._has_generations = self._name.lower().startswith("gs://")
        self._options = options
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise StorageNotInstalled(self._name) from error
        self._obstore = obstore
        client: dict[str, Any] = {"connect_timeout": _CONNECT_TIMEOUT, "timeout": f"{patience.request_seconds:g}s"}
        config: dict[str, Any] = {}
        for key, value in options.items():
            plain = _without_prefix(key)
            if plain in _OF_THE_CLIENT:
                client[plain] = value
            else:
                config[key.lower()] = value
        from obstore.exceptions import BaseError

        retries = {
            "max_retries": patience.retries,
            "backoff": _BACKOFF,
            "retry_timeout": dt.timedelta(seconds=patience.seconds),
        }
        try:
            self._store: Any = from_url(self._name, config=config, client_options=client, retry_config=retries)  # type: ignore[call-overload]
        except (BaseError, ValueError, TypeError) as error:
            raise self._not_understood(self._first_line(error)) from None

    @property
    def name(self) -> str:
        """The URL, which has no credentials."""
        return self._name

    def get(self, path: str, *, most: int) -> StoredObject | None:
        return self._get(path, {}, most=most)

    def get_if_changed(self, path: str, etag: str, *, most: int) -> StoredObject | None:
        from obstore.exceptions import NotModifiedError

        try:
            return self._get(path, {"if_none_match": etag.partition(_AND_GENERATION)[0]}, most=most) or StoredObject(
                b"", ""
            )
        except NotModifiedError:
            return None

    def _get(self, path: str, conditions: GetOptions, *, most: int) -> StoredObject | None:
        with self._errors():
            try:
                found = self._obstore.get(self._store, path, options=conditions)
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                return None
            if found.meta["size"] > most:
                raise StorageUnavailable(self.name, f"{path} has more than {most:,} bytes")
            return StoredObject(bytes(found.bytes()), self._tag(found.meta), found.meta["last_modified"].timestamp())

    def get_range(self, path: str, offset: int, length: int) -> bytes | None:
        if not length:
            return b""
        with self._errors():
            try:
                return bytes(self._obstore.get_range(self._store, path, start=offset, length=length))
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                return None

    def download(self, path: str, to: str) -> bool:
        with self._errors():
            try:
                found = self._obstore.get(self._store, path)
            except FileNotFoundError as error:
                if _is_of_bucket(error):
                    raise
                return False
            chunks = found.stream()
            with open(to, "wb") as file:
                while (chunk := self._next(chunks)) is not None:
                    file.write(chunk)
        return True

    def put(self, path: str, content: bytes) -> None:
        with self._errors():
            self._obstore.put(self._store, path, content, use_multipart=False)

    def upload(self, path: str, source: str) -> None:
        with open(source, "rb") as file, self._errors():
            self._obstore.put(self._store, path, file, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE)

    def replace(self, path: str, content: bytes, etag: str | None) -> str:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._errors():
            try:
                mode: Any = "create" if etag is None else self._expected(etag)
                done = self._obstore.put(self._store, path, content, mode=mode)
            except (AlreadyExistsError, PreconditionError) as error:
                raise PutConflict(path) from error
            except FileNotFoundError as error:
                if etag is not None and not _is_of_bucket(error):
                    # S3 answers so where the object with the tag is gone.
                    raise PutConflict(path) from error
                raise
            return self._tag(done)

    def _tag(self, told: Mapping[str, Any]) -> str:
        etag = told["e_tag"] or ""
        return f"{etag}{_AND_GENERATION}{told['version']}" if self._has_generations else etag

    def _expected(self, tag: str) -> Any:
        etag, _, generation = tag.partition(_AND_GENERATION)
        return {"e_tag": etag, "version": generation} if self._has_generations else {"e_tag": etag}

    def list(self, prefix: str) -> Iterator[StoredEntry]:
        with self._errors():
            for page in self._obstore.list(self._store, prefix=prefix):
                for found in page:
                    yield StoredEntry(found["path"], found["size"], found["last_modified"].timestamp())

    def delete(self, paths: Iterable[str]) -> None:
        with self._errors():
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    self._obstore.delete(self._store, path)

    @staticmethod
    def _next(chunks: Any) -> bytes | None:
        chunk = next(chunks, None)
        return None if chunk is None else bytes(chunk)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        from obstore.exceptions import BaseError, NotModifiedError, PermissionDeniedError, UnauthenticatedError

        try:
            with self._watched():
                yield
        except NotModifiedError:
            raise
        except FileNotFoundError as error:
            raise StorageRefused(self.name, _NO_SUCH_BUCKET) from error
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise StorageRefused(self.name, self._reason(error)) from None
        except BaseError as error:
            # Listing says no more than that its request failed.
            reason = _NO_SUCH_BUCKET if _is_of_bucket(error) else self._reason(error)
            raise _as_refused(self.name, reason) from None

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Have it told where the storage has not answered anything yet, and does not now."""
        if self._on_slow is None:
            yield
            return
        slow = threading.Timer(_SLOW_SECONDS, self._tell_slow)
        slow.daemon = True
        slow.start()
        try:
            yield
            self._on_slow = None
        finally:
            slow.cancel()

    def _tell_slow(self) -> None:
        tell, self._on_slow = self._on_slow, None
        if tell is not None:
            tell(self.name)

    def _reason(self, error: Exception) -> str:
        """Return why a request failed, in a few words: what the library says has whole answers in it."""
        text = str(error)
        status, tries = _STATUS.search(text), _TRIES.search(text)
        more = f", also after {tries[1]} retries" if tries and tries[1] != "0" else ""
        if status is not None:
            return f"the storage answered {status[1].strip()}{more}"
        if "timed out" in text or "Timeout" in text:
            return f"the storage did not answer in time{more}"
        if "response body error" in text:
            return f"the storage broke its answer off{more}"
        if "error sending request" in text or "connection" in text.lower():
            return f"the connection failed{more}"
        return self._first_line(error)

    def _not_understood(self, reason: str) -> InvalidSetting:
        """Return the error about what says how the bucket is reached: a variable that is missing, or one that is set.

        The library takes what the options do not name from the variables, and does not say of which it complains.
        """
        for said, (missing, option, why) in _MISSING.items():
            if said in reason:
                hint = f"set it, or {option} in SKILLHUB_STORAGE_OPTIONS"
                return InvalidSetting(missing, "", f"is missing: {why}", hint=hint)
        variables = _VARIABLES[self._name.partition("://")[0].lower()]
        if self._options:
            hint = f"what it does not name comes from {variables}: look at these too"
            return InvalidSetting("SKILLHUB_STORAGE_OPTIONS", "***", f"is not understood: {reason}", hint=hint)
        return InvalidSetting(variables, "***", f"is not understood: {reason}")

    def _first_line(self, error: Exception) -> str:
        lines = str(error).splitlines()
        shown = lines[0] if lines else type(error).__name__
        return without_options(shown, self._options)[:_SHOWN]


def _is_of_bucket(error: Exception) -> bool:
    """Whether it is the bucket that was not found, and not an object in it."""
    return any(code in str(error) for code in _NO_BUCKET)


def _as_refused(target: str, reason: str) -> StorageUnavailable:
    if reason == _NO_SUCH_BUCKET or any(f"answered {status}" in reason for status in _REFUSALS):
        return StorageRefused(target, reason)
    return StorageUnavailable(target, reason)


def _without_prefix(key: str) -> str:
    plain = key.lower()
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    return plain
