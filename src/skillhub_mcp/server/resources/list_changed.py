"""List-changed notifications: every client that can receive them gets one for each change, however large.

To MCP the skills are the server's resources, so the notification is `resources/list_changed`, and also
`prompts/list_changed` where they are prompts too. In the 2025-11-25 protocol each connection gets it, in the 2026-07-28
protocol each stream of `subscriptions/listen` that asked for it. The lists change with the skills, and with the policy:
a skill that is switched off leaves them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
)
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Policy

log = logging.getLogger(__name__)

ServerContext = ServerRequestContext[object, object]

# A folder of skills that is being copied changes several times: the notification is sent when nothing has changed for
# `_QUIET_SECONDS`, and at the latest after `_MAX_DELAY_SECONDS`.
_QUIET_SECONDS = 0.5
_MAX_DELAY_SECONDS = 5.0
_SEND_TIMEOUT_SECONDS = 5.0
# Between two looks at the files of the policy, which each call looks at, too.
_POLICY_SECONDS = 2.0
# With these a client connects, and knows no list yet: a first look, which reads all files, would delay the answer.
_BEFORE_ANY_LIST = frozenset({"initialize", "server/discover"})


class ListChangedNotifier(Middleware):
    """Notifies the clients of one hub, with `prompts` of its prompts too. `open` and `close` belong to the lifespan."""

    def __init__(self, hub: SkillHub, *, prompts: bool) -> None:
        self._access = hub.access
        self._prompts = prompts
        self._connections: set[Connection] = set()
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._task: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        hub.on_change(self._changed)

    def declare(self, server: FastMCP, *, stateless: bool) -> None:
        """Have `server` tell clients of the 2025-11-25 protocol of what they are notified; if `stateless`, of none."""
        # FastMCP tells all of them that every list may change.
        server._mcp_server.notification_options = NotificationOptions(  # noqa: SLF001 - there is no other way
            resources_changed=not stateless, prompts_changed=self._prompts and not stateless
        )

    def open(self) -> None:
        """Start to send, from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def listen(
        self, request: ServerContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of the 2026-07-28 protocol, until its client or the server ends it."""
        if self._closed:
            return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: request.request_id})
        return await self._streams(request, params)

    async def publish(self, event: ServerEvent) -> None:
        """Send an event to every stream that asked for it."""
        await self._bus.publish(event)

    async def close(self) -> None:
        """Send nothing more, and end every stream."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._following, self._task):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self._following = None
        self.end_streams()

    def end_streams(self) -> None:
        """End every stream in a way that tells its client that the end is intended."""
        self._closed = True
        self._streams.close()

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

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        if self._following is None and context.method not in _BEFORE_ANY_LIST:
            self._following = asyncio.ensure_future(self._follow_policy())
        return await call_next(context)

    async def _follow_policy(self) -> None:
        seen = await anyio.to_thread.run_sync(self._policy)
        while True:
            await asyncio.sleep(_POLICY_SECONDS)
            policy = await anyio.to_thread.run_sync(self._policy)
            if policy is not seen:
                seen = policy
                self._wait_for_quiet()

    def _policy(self) -> Policy | None:
        """Return the policy in force, the same value while nothing changes; None where it permits nothing."""
        try:
            return self._access.now()
        except PolicyUnreadable:
            # Each call reports it; the lists are empty.
            return None

    def _changed(self) -> None:
        """Schedule a notification, from the thread that found the change."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wait_for_quiet)

    def _wait_for_quiet(self) -> None:
        if self._loop is None:
            return
        now = self._loop.time()
        self._due = self._due or now + _MAX_DELAY_SECONDS
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(min(now + _QUIET_SECONDS, self._due), self._send)

    def _send(self) -> None:
        self._due = self._timer = None
        self._task = asyncio.ensure_future(self._notify_all())

    async def _notify_all(self) -> None:
        log.debug("Notifying %d clients that the skills have changed", len(self._connections))
        await self._bus.publish(ResourcesListChanged())
        if self._prompts:
            await self._bus.publish(PromptsListChanged())
        async with anyio.create_task_group() as group:
            for connection in list(self._connections):
                group.start_soon(self._notify, connection)

    async def _notify(self, connection: Connection) -> None:
        """Notify one client. One that is gone, or has stopped reading, does not keep the others waiting."""
        with (
            anyio.move_on_after(_SEND_TIMEOUT_SECONDS),
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            await connection.send_resource_list_changed()
            if self._prompts:
                await connection.send_prompt_list_changed()
