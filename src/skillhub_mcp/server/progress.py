"""Progress and cancellation of long-running calls, the same in both protocol versions.

A call that its client cancels (with `notifications/cancelled`, or by closing the connection) stops its work: commands
are killed, and waiting ends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from fastmcp.server.dependencies import get_context, get_http_request

from skillhub_mcp.index.progress import IndexProgress

T = TypeVar("T")

# The steps of building an index: reading, then embedding with word vectors, then writing. A replica fetches.
_STEPS = {"reading": 0, "fetching": 0, "embedding": 1, "indexing": 2}
_ALL_STEPS = 3
_TICK_SECONDS = 1.0


class ProgressReporter:
    """Reports the progress of the current call to its client, if it asked for it. Outside a call it is silent."""

    def __init__(self) -> None:
        try:
            context = get_context()
        except RuntimeError:
            context = None
        request = None if context is None else context.request_context
        self._context = context if request is not None and "progressToken" in (request.meta or {}) else None
        self._reported = -1.0

    async def report(self, done: float, total: float, message: str) -> None:
        """Report that `done` of `total` is done, unless as much was reported before."""
        if self._context is None or done <= self._reported:
            return
        self._reported = done
        try:
            await self._context.report_progress(done, total, message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The client is gone; its call is cancelled elsewhere.
            return

    async def report_steps(self, steps: IndexProgress) -> None:
        """Report each step of building an index, until cancelled."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()

        def notify() -> None:
            if not changed.is_set():
                loop.call_soon_threadsafe(changed.set)

        with steps.listen(notify):
            while True:
                name, done, total = steps.latest or ("", 0, 0)
                if name in _STEPS:
                    message = f"{name.capitalize()} the skills: {done:,} of {total:,}"
                    await self.report(_STEPS[name] + done / max(total, 1), _ALL_STEPS, message)
                await changed.wait()
                changed.clear()

    async def report_time(self, seconds: float, what: str) -> None:
        """Report each second how long `what` has been running of at most `seconds`, until cancelled."""
        began = time.monotonic()
        await self.report(0, seconds, f"{what} has been started")
        while True:
            await anyio.sleep(_TICK_SECONDS)
            running = min(round(time.monotonic() - began), seconds)
            message = f"{what} has been running for {running:g} of at most {seconds:g} seconds"
            await self.report(running, seconds, message)


async def run_with_progress(
    work: Callable[[], T],
    report: Callable[[], Coroutine[Any, Any, None]],
    *,
    stop: threading.Event | None = None,
    threads: anyio.CapacityLimiter | None = None,
) -> T:
    """Run `work` in a thread, and `report` at the same time, and return the work's result. Raises what it raises.

    When the call is cancelled or its client gone, `stop` is set and the end of the work awaited; without `stop` the
    work is abandoned. The thread is one of `threads`, or of those that all requests share.
    """
    working = asyncio.ensure_future(anyio.to_thread.run_sync(work, abandon_on_cancel=stop is None, limiter=threads))
    beside = [asyncio.ensure_future(report())]
    if stop is not None:
        beside.append(asyncio.ensure_future(_set_when_disconnected(stop)))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        if stop is None:
            working.cancel()
        else:
            stop.set()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(working, return_exceptions=True)
        raise
    finally:
        for task in beside:
            task.cancel()


async def _set_when_disconnected(stop: threading.Event) -> None:
    """Set `stop` when the client of the HTTP request that is answered has closed its connection."""
    try:
        request = get_http_request()
    except RuntimeError:
        return
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop.set()
