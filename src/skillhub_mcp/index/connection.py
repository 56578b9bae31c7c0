"""LanceDB's asynchronous API on an event loop of our own, and its failures.

The synchronous API makes six hops to its own loop for each query; a coroutine that asks several things makes one.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from skillhub_mcp.index.failures import LANCE_FAILURES, damaged
from skillhub_mcp.index.lance_import import import_lancedb

if TYPE_CHECKING:
    from typing import Any

P = ParamSpec("P")
T = TypeVar("T")

IN_MEMORY = "memory://"

# Of indexes and of metadata. By itself LanceDB keeps up to seven gigabytes.
_CACHE_BYTES = 64 << 20, 32 << 20

# LanceDB reads these when it is imported. Its warnings go to stderr, where "no table yet" would mislead; and what it
# reads ahead is 2 GB by itself.
os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(16 << 20))
os.environ.setdefault("LANCE_DEFAULT_BATCH_SIZE", "512")

_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of this process and return its result. Raises IndexDamaged."""
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()
    except LANCE_FAILURES as error:
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


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="skillhub-lancedb", daemon=True).start()
            _loops.append(loop)
        return _loops[0]
