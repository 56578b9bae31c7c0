"""LanceDB's asynchronous API on an event loop of our own, and its failures as two exceptions.

The synchronous API makes six hops to its own loop for each query; a coroutine that asks several things makes one.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from typing import Any

P = ParamSpec("P")
T = TypeVar("T")

IN_MEMORY = "memory://"
PATHS_PER_STATEMENT = 500

# Of indexes and of metadata. LanceDB's own limits are seven gigabytes.
_CACHE_BYTES = 64 << 20, 32 << 20
# A full disk, a quota and a limit of the process: a new table would not help.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# How LanceDB's messages name an error of the operating system.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")

# LanceDB reads these when it is imported. Its warnings go to stderr, where "no table yet" would mislead; and it reads
# 2 GB ahead by default.
os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 << 20))
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", "512")

_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


class IndexDamaged(Exception):
    """The table cannot be opened, read or written; the message is the first line of LanceDB's own."""


class NoRoom(IndexDamaged):
    """The table cannot be written because it may not grow. What it held can still be read."""


def damaged(error: Exception) -> IndexDamaged:
    """Return the IndexDamaged for an error of LanceDB or of the file system."""
    if isinstance(error, IndexDamaged):
        return error
    found = _OS_ERROR.search(str(error))
    number = int(found[1]) if found else getattr(error, "errno", None)
    if number in _NO_ROOM:
        return NoRoom(os.strerror(number))
    if isinstance(error, OSError) and error.strerror:
        return IndexDamaged(error.strerror)
    return IndexDamaged(next(iter(str(error).splitlines()), type(error).__name__))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of this process and return its result. Raises IndexDamaged."""
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()
    except (RuntimeError, OSError, ValueError) as error:
        raise damaged(error) from error


def blocking(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a coroutine method one that runs on that loop and returns its result. It raises IndexDamaged."""

    @wraps(method)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        return run(method(*arguments, **options))

    return call


async def connect(path: str, options: Mapping[str, str] | None = None) -> Any:
    """Return a connection to the database at `path`, a directory or a URL that is reached by `options`.

    Each one to `memory://` is a database of its own.
    """
    lancedb = import_lancedb()
    session = lancedb.Session(*_CACHE_BYTES)
    return await lancedb.connect_async(path, session=session, storage_options=dict(options or {}) or None)


def is_in(column: str, values: Sequence[str]) -> str:
    """Return the SQL condition that a column is one of `values`."""
    quoted = ",".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})" if values else "false"


def chunks(values: Sequence[T], size: int = PATHS_PER_STATEMENT) -> Iterator[Sequence[T]]:
    """Yield the values in chunks of at most `size`."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="skillhub-lancedb", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


# Importing LanceDB without `lance_namespace`, its client of a REST service, which nothing here uses: most of the time.
# LanceDB takes names of it for annotations. While it is imported these are placeholders, which import it if called.


@cache
def _placeholder(module: str, name: str) -> type:
    def call(_: type, *args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return type(name, (Exception,), {"__new__": call})


class _Deferred(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(self.__name__, name)


class _Finder:
    create_module = staticmethod(lambda spec: _Deferred(spec.name))
    exec_module = staticmethod(lambda _: None)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(name, loader, is_package=True) if name.startswith("lance_namespace") else None


def import_lancedb() -> Any:
    """Return the module `lancedb`."""
    if "lancedb" not in sys.modules and "lance_namespace" not in sys.modules:
        finder: Any = _Finder()
        sys.meta_path.insert(0, finder)
        stale = "lance_namespace"
        try:
            importlib.import_module("lancedb")
        except (ImportError, TypeError):  # another release of it is imported as it is
            stale = "lance"
        sys.meta_path.remove(finder)
        for name in [one for one in sys.modules if one.startswith(stale) and one != "lancedb._lancedb"]:
            del sys.modules[name]
    return importlib.import_module("lancedb")
