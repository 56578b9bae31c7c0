"""Who hears that the skills have changed? Every client that can listen, once for each change, however large.

To MCP the skills are the server's resources, so the word is `resources/list_changed`, and where they are prompts too
`prompts/list_changed`: sent to each connection of the older era, and to those who asked for it by
`subscriptions/listen` in the newer one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

import anyio
import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
)
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from skillhub_mcp.hub import SkillHub

log = logging.getLogger(__name__)

Asked = ServerRequestContext[object, object]

# A folder of skills that is copied in arrives over several looks: the word goes out when it has been quiet for so
# long, and during a change without end every so often.
_QUIET_SECONDS = 0.5
_LONGEST_SILENCE_SECONDS = 5.0
_PATIENCE_SECONDS = 5.0


class ListChangedNotifier(Middleware):
    """Sends the word for one hub, of which the skills are `prompts` too. `open` and `close` belong to the lifespan."""

    def __init__(self, hub: SkillHub, *, prompts: bool) -> None:
        self._prompts = prompts
        self._connections: set[Connection] = set()
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus)
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._sending: asyncio.Task[None] | None = None
        hub.on_change(self._changed)

    def open(self) -> None:
        """Begin to send, from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._ended = False

    async def listen(self, asked: Asked, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve one stream of the newer era, until its client or the server ends it."""
        if self._ended:
            return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: asked.request_id})
        return await self._listening(asked, params)

    async def publish(self, event: ServerEvent) -> None:
        """Send an event to every stream that asked for it."""
        await self._bus.publish(event)

    async def close(self) -> None:
        """Send nothing more, and end every stream that is being listened to."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending
        self.end_streams()

    def end_streams(self) -> None:
        """End every stream that is being listened to: its client is told that it ended on purpose."""
        self._ended = True
        self._listening.close()

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        if context.fastmcp_context is not None:
            connection = context.fastmcp_context.session._connection  # noqa: SLF001 - a session lasts but one request
            self._connections.add(connection)
            connection.exit_stack.callback(self._connections.discard, connection)
        return await call_next(context)

    def _changed(self) -> None:
        """Hear of a change, in the thread that looked."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wait_for_quiet)

    def _wait_for_quiet(self) -> None:
        if self._loop is None:
            return
        now = self._loop.time()
        self._due = self._due or now + _LONGEST_SILENCE_SECONDS
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(min(now + _QUIET_SECONDS, self._due), self._send)

    def _send(self) -> None:
        self._due = self._timer = None
        self._sending = asyncio.ensure_future(self._announce())

    async def _announce(self) -> None:
        log.debug("Telling %d clients that the skills have changed", len(self._connections))
        await self._bus.publish(ResourcesListChanged())
        if self._prompts:
            await self._bus.publish(PromptsListChanged())
        async with anyio.create_task_group() as telling:
            for connection in list(self._connections):
                telling.start_soon(self._tell, connection)

    async def _tell(self, connection: Connection) -> None:
        """Send the word to one client; one that is gone, or has stopped reading, keeps it from nobody else."""
        with (
            anyio.move_on_after(_PATIENCE_SECONDS),
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            await connection.send_resource_list_changed()
            if self._prompts:
                await connection.send_prompt_list_changed()
