"""How does a client follow a call that takes long, and how does it end one? The same way in both eras.

Progress is told where the client gave a token for it, ever further and in words. A call that its client cancels (with
`notifications/cancelled`, or by closing the stream of its answer) stops its work: what it runs is killed, and what it
waits for is waited for no longer.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from fastmcp.server.dependencies import get_context

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.live_index import FIRST_ANSWER_SECONDS, not_built_yet
from skillhub_mcp.index.progress import IndexProgress, ProgressStep

T = TypeVar("T")

# How far each step of making an index takes it: reading, then embedding if anything does, then writing.
_STEPS = {"embedding": 1, "indexing": 2}
_ALL_STEPS = 3
_TICK_SECONDS = 1.0


class ProgressReporter:
    """Tells the client of the present call how far it is."""

    def __init__(self) -> None:
        self._context = get_context()
        request = self._context.request_context
        self._is_wanted = request is not None and "progressToken" in (request.meta or {})
        self._told = -1.0

    async def tell(self, done: float, total: float, message: str) -> None:
        """Say that `done` of `total` is done, unless as much was said before."""
        if not self._is_wanted or done <= self._told:
            return
        self._told = done
        try:
            await self._context.report_progress(done, total, message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The client is gone; that its call is cancelled is heard elsewhere.
            return

    async def tell_step(self, step: ProgressStep | None) -> None:
        """Say how far an index is that is being made."""
        if step is None or step.name not in _STEPS:
            await self.tell(0, _ALL_STEPS, "Reading the skills")
            return
        done = _STEPS[step.name] + step.done / max(step.total, 1)
        doing = f"{step.name.capitalize()} the skills: {step.done:,} of {step.total:,}"
        await self.tell(done, _ALL_STEPS, doing)

    async def tell_steps(self, steps: IndexProgress) -> None:
        """Say of each step how far it is, until cancelled."""
        with _news_of(steps) as news:
            while True:
                await self.tell_step(steps.latest)
                await news.wait()
                news.clear()

    async def tell_time(self, seconds: float, what: str) -> None:
        """Say each second how long `what` has been running of the `seconds` that it may, until cancelled."""
        began = time.monotonic()
        await self.tell(0, seconds, f"{what} has been started")
        while True:
            await anyio.sleep(_TICK_SECONDS)
            running = min(round(time.monotonic() - began), seconds)
            await self.tell(running, seconds, f"{what} has been running for {running:g} of at most {seconds:g} seconds")


async def wait_until_searchable(hub: SkillHub, query: str, progress: ProgressReporter) -> None:
    """Wait until a search for `query` can be answered. Raises IndexUnavailable when that takes too long."""
    if hub.is_ready_for(query):
        return
    hub.start()
    with anyio.move_on_after(FIRST_ANSWER_SECONDS):
        with _news_of(hub.index_progress) as news:
            while not hub.is_ready_for(query):
                await progress.tell_step(hub.index_progress.latest)
                await news.wait()
                news.clear()
        return
    raise not_built_yet()


async def run_with_progress(
    work: Callable[[], T], telling: Callable[[], Coroutine[Any, Any, None]], *, stop: threading.Event | None = None
) -> T:
    """Run `work` in a thread, and `telling` meanwhile, and return what the work came to. Raises what it raises.

    When the call is cancelled, `stop` is set and the end of the work waited for; without one it is left to itself.
    """
    outcome: list[T] = []
    failure: SkillHubError | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(telling)
        if stop is not None:
            group.start_soon(_set_when_cancelled, stop)
        try:
            outcome.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=stop is None))
        except SkillHubError as error:
            # Whatever leaves a group is wrapped by it.
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return outcome[0]


async def _set_when_cancelled(stop: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


@contextmanager
def _news_of(steps: IndexProgress) -> Iterator[asyncio.Event]:
    """Return what is set, in this loop, whenever there is news of `steps`."""
    news, loop = asyncio.Event(), asyncio.get_running_loop()

    def hear() -> None:
        if not news.is_set():
            loop.call_soon_threadsafe(news.set)

    with steps.listen(hear):
        yield news
