"""Notifications of changed lists and files, in both protocol versions.

The skills are resources, and prompts if the set `skill` is chosen; the lists change with the skills and the policy. A
URI that the client may not read is refused, or missing from the acknowledgement of a stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from fastmcp.server.context import Context as RequestContext
from fastmcp.server.middleware import Middleware
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.subscriptions import ServerEvent, event_to_notification
from mcp_types import SubscribeRequestParams, SubscriptionsListenRequestParams, SubscriptionsListenResult

from skillhub_mcp.errors import InvalidArgument, PolicyUnreadable, ResourceNotFound, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.publishing.uris import SCHEME
from skillhub_mcp.server.middleware.sessions import is_stateless
from skillhub_mcp.server.middleware_types import AnyRequest, Discover, Initialize, Next

log = logging.getLogger(__name__)

# For one connection, or one stream: each file is checked after every scan of the skills.
_MAX_SUBSCRIPTIONS = 256
# As many as the SDK has sessions. The oldest one is not notified any more.
_MAX_CONNECTIONS = 10_000
# A folder of skills that is being copied changes several times.
_QUIET_SECONDS = 0.5
_SEND_TIMEOUT_SECONDS = 5.0
# Between two checks of the policy's files.
_POLICY_SECONDS = 2.0
# The first check reads all files of the policy, which would delay the answer to these.
_BEFORE_ANY_LIST = frozenset({"initialize", "server/discover"})


class ChangeNotifier(Middleware):
    """Notifies the clients of one hub, with `prompts` of its prompts too. `open` and `close` belong to the lifespan.

    A `stateless` server has no connections in the 2025-11-25 protocol.
    """

    def __init__(self, hub: SkillHub, publisher: Publisher, *, prompts: bool, stateless: bool) -> None:
        self._hub = hub
        self._publisher = publisher
        self._prompts = prompts
        self._stateless = stateless
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._following: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._lists_changed = self._scanned = False
        # What ends the events to each connection, by its id.
        self._connections: dict[str, Callable[[], None]] = {}
        self._sending: set[asyncio.Task[None]] = set()
        # The URIs of each connection (by its id) and of each stream, and the digest last seen of each file.
        self._subscribed: dict[object, set[str]] = {}
        self._digests: dict[str, str | None] = {}
        hub.views.subscribe(self._on_sync)

    def _on_sync(self, is_other: bool) -> None:
        """Note in the loop, from the thread that scanned the files, that a scan has ended."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            # In a context of its own: the caller whose request scanned the files may see less than others.
            loop.call_soon_threadsafe(self._scan_ended, is_other, context=Context())

    def open(self) -> None:
        """Start to send, from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def close(self) -> None:
        """Send nothing more, and end every stream."""
        self._loop = None
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
        self.end_streams()

    def end_streams(self) -> None:
        """End every stream in a way that tells its client that the end is intended."""
        self._closed = True
        self._streams.close()

    async def on_initialize(self, context: Initialize, call_next: Next) -> mcp_types.InitializeResult | None:
        client = context.fastmcp_context
        if client is not None and not self._stateless:
            self._connect(client.session_id, client.session)
        result: mcp_types.InitializeResult | None = await call_next(context)
        return result and result.model_copy(
            update={"capabilities": self._declared(result.capabilities, notified=not self._stateless)}
        )

    async def on_discover(self, context: Discover, call_next: Next) -> Any:
        result = await call_next(context)
        if not isinstance(result, mcp_types.DiscoverResult):
            return result
        return result.model_copy(update={"capabilities": self._declared(result.capabilities, notified=True)})

    async def on_request(self, context: AnyRequest, call_next: Next) -> Any:
        """Answer the methods about subscriptions, for which FastMCP has no handlers."""
        if context.method not in _BEFORE_ANY_LIST:
            self._start_following()
        client = context.fastmcp_context
        if client is None:
            return await call_next(context)
        if is_stateless(client):
            if context.method == "subscriptions/listen":
                return await self._listen(client, SubscriptionsListenRequestParams.model_validate(context.message))
        elif not self._stateless:
            if context.method == "resources/subscribe":
                return await self._subscribe(client, SubscribeRequestParams.model_validate(context.message))
            if context.method == "resources/unsubscribe":
                uri = str(mcp_types.UnsubscribeRequestParams.model_validate(context.message).uri)
                self._subscribed.get(client.session_id, set()).discard(uri)
                return {}
        return await call_next(context)

    def _declared(self, capabilities: mcp_types.ServerCapabilities, *, notified: bool) -> mcp_types.ServerCapabilities:
        """Return what the server can do, with the lists of whose changes it notifies. The tools never change."""
        lists = {
            "resources": mcp_types.ResourcesCapability(subscribe=notified, list_changed=notified),
            "prompts": mcp_types.PromptsCapability(list_changed=notified and self._prompts),
            "tools": mcp_types.ToolsCapability(list_changed=False),
        }
        served = {name: value for name, value in lists.items() if getattr(capabilities, name) is not None}
        return capabilities.model_copy(update=served)

    async def _listen(
        self, client: RequestContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of the 2026-07-28 protocol, until its client or the server ends it."""
        request = ServerRequestContext[Any, Any](
            session=client.session,
            lifespan_context=None,
            protocol_version=client.session.protocol_version,
            method="subscriptions/listen",
            request_id=_as_sent(client.request_id),
        )
        if self._closed:
            return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: request.request_id})
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:_MAX_SUBSCRIPTIONS]
        readable = await self._readable(client, wanted)
        filtered = params.notifications.model_copy(update={"resource_subscriptions": list(readable)})
        stream = object()
        self._subscribed[stream] = set(readable)
        try:
            return await self._streams(request, params.model_copy(update={"notifications": filtered}))
        finally:
            del self._subscribed[stream]

    async def _subscribe(self, client: RequestContext, params: SubscribeRequestParams) -> dict[str, object]:
        uri = str(params.uri)
        if not await self._readable(client, [uri]):
            raise ResourceNotFound(uri, hint="call skills/list for the URIs of skills")
        uris = self._subscribed.setdefault(client.session_id, set())
        if uri not in uris and len(uris) >= _MAX_SUBSCRIPTIONS:
            raise InvalidArgument("uri", "exceeds the maximum number of subscriptions")
        uris.add(uri)
        return {}

    async def _readable(self, client: RequestContext, uris: Sequence[str]) -> Sequence[str]:
        """Return those of a caller's `uris` that they may read, and note the digests of their files."""
        files = [uri for uri in uris if uri.startswith(SCHEME)]
        # Another resource, of a server that is built on this one, does not change.
        others = [uri for uri in uris if uri not in files and await client.fastmcp.get_resource(uri)]
        if not files:
            return others
        # From now on the files are scanned, even if no tool has been called yet.
        self._hub.start()
        digests = await anyio.to_thread.run_sync(self._publisher.digests, files)
        readable = {uri: digest for uri, digest in digests.items() if digest is not None}
        # The subscribers of a file that is watched already were notified up to the digest that is there.
        watched = self._watched()
        self._digests |= {uri: digest for uri, digest in readable.items() if uri not in watched}
        return [*readable, *others]

    def _watched(self) -> set[str]:
        return {uri for uris in self._subscribed.values() for uri in uris if uri.startswith(SCHEME)}

    def _scan_ended(self, is_other: bool) -> None:
        self._lists_changed = self._lists_changed or is_other
        self._scanned = True
        self._wake.set()
        self._start_following()

    def _start_following(self) -> None:
        if self._following is None and self._loop is not None:
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        """Notify of what has changed after each scan, and of changes of the policy."""
        seen = await anyio.to_thread.run_sync(self._policy)
        while True:
            with anyio.move_on_after(_POLICY_SECONDS):
                await self._wake.wait()
            self._wake.clear()
            try:
                policy = await anyio.to_thread.run_sync(self._policy)
                self._lists_changed = self._lists_changed or policy is not seen
                seen = policy
                if self._scanned and self._subscribed:
                    self._scanned = False
                    await self._notify_changed_files()
                if self._lists_changed:
                    await asyncio.sleep(_QUIET_SECONDS)
                    self._lists_changed = False
                    await self._bus.publish(ResourcesListChanged())
                    if self._prompts:
                        await self._bus.publish(PromptsListChanged())
            except SkillHubError as error:
                # The changes are found again after a later scan.
                log.warning("Clients cannot be notified of changes: %s", error.message)
            except Exception:  # the edge of a task: an unexpected error is reported, and the next scan is compared
                log.exception("Clients cannot be notified of changes")

    def _policy(self) -> Policy | None:
        """Return the policy in force, the same value while nothing changes; None if it permits nothing."""
        try:
            return self._hub.access.now()
        except PolicyUnreadable:
            # Each call reports it; the lists are empty.
            return None

    async def _notify_changed_files(self) -> None:
        found = await anyio.to_thread.run_sync(self._publisher.digests, self._watched())
        changed = {uri for uri in found if self._digests[uri] != found[uri]}
        self._digests |= found
        for uri in sorted(changed):
            await self._bus.publish(ResourceUpdated(uri=uri))

    def _connect(self, key: str, session: ServerSession) -> None:
        """Send events to a connection of the 2025-11-25 protocol from now on."""
        self._disconnect(key)
        if len(self._connections) >= _MAX_CONNECTIONS:
            self._disconnect(next(iter(self._connections)))
        self._connections[key] = self._bus.subscribe(partial(self._forward, key, session))

    def _disconnect(self, key: str) -> None:
        if unsubscribe := self._connections.pop(key, None):
            unsubscribe()
        self._subscribed.pop(key, None)

    def _forward(self, key: str, session: ServerSession, event: ServerEvent) -> None:
        if not isinstance(event, ResourceUpdated) or event.uri in self._subscribed.get(key, ()):
            sending = asyncio.ensure_future(self._send(key, session, event_to_notification(event, {})))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _send(self, key: str, session: ServerSession, notification: mcp_types.ServerNotification) -> None:
        """Notify one client. One that has stopped reading is given up after a moment; one that left is dropped."""
        with anyio.move_on_after(_SEND_TIMEOUT_SECONDS):
            try:
                await session.send_notification(notification)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._disconnect(key)


def _as_sent(request_id: str) -> str | int:
    """Return a request's id, which FastMCP gives as text. The id "7" is taken for the number, which clients use."""
    return int(request_id) if re.fullmatch(r"0|-?[1-9][0-9]*", request_id) else request_id
