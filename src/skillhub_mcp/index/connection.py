"""LanceDB's asynchronous API on an event loop of our own, and its failures.

The synchronous API makes six hops to its own loop for each query; a coroutine that asks several things makes one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, TypeVar

from skillhub_mcp.index.lance import LANCE_FAILURES, damaged
from skillhub_mcp.index.lance_import import import_lancedb

if TYPE_CHECKING:
    from typing import Any

T = TypeVar("T")

IN_MEMORY = "memory://"

# Of indexes and of metadata. By itself LanceDB keeps up to seven gigabytes.
_CACHE_BYTES = 64 << 20, 32 << 20

_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of this process and return its result. Raises IndexDamaged."""
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()
    except LANCE_FAILURES as error:
        raise damaged(error) from error


async def connect(path: str) -> Any:
    """Return a connection to the database at `path`. Each one to `memory://` is a database of its own."""
    lancedb = import_lancedb()
    return await lancedb.connect_async(path, session=lancedb.Session(*_CACHE_BYTES))


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="skillhub-lancedb", daemon=True).start()
            _loops.append(loop)
        return _loops[0]
