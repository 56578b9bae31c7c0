"""Subscriptions to single files of skills: clients subscribe to a URI and are notified when its file changes.

In the 2025-11-25 protocol by `resources/subscribe`, in the 2026-07-28 protocol by `subscriptions/listen`. A URI that
the client must not read is refused in the former, and missing from the acknowledgement in the latter.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextvars import Context

import anyio
import anyio.to_thread
from fastmcp import FastMCP
from mcp.server.connection import Connection
from mcp.server.subscriptions import ResourceUpdated
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from skillhub_mcp.errors import InvalidArgument, ResourceNotFound, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.publishing.uris import SCHEME
from skillhub_mcp.server.error_responses import protocol_error, run_in_thread
from skillhub_mcp.server.resources.list_changed import ListChangedNotifier, ServerContext

log = logging.getLogger(__name__)

# For one connection, or one stream.
MAX_SUBSCRIPTIONS = 256
# For all clients: each one is checked after every scan of the files.
MAX_WATCHED = 4_096
_SEND_TIMEOUT_SECONDS = 5.0
# Resources that are no files of skills never change; a server that is built on this one may have some.
_UNCHANGING = ""


class ResourceSubscriptions:
    """Notifies of changes to single files of one hub. `open` and `close` belong to the lifespan.

    `notifier` sends the notifications of the 2026-07-28 protocol.
    """

    def __init__(self, hub: SkillHub, publisher: Publisher, notifier: ListChangedNotifier) -> None:
        self._hub = hub
        self._publisher = publisher
        self._notifier = notifier
        self._server: FastMCP | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._scanned = False
        # The number of subscriptions to each URI, and the digest that was last seen there.
        self._watched: Counter[str] = Counter()
        self._digests: dict[str, str | None] = {}
        self._subscribed: dict[Connection, set[str]] = {}
        hub.on_sync(self._on_sync)

    def serve(self, server: FastMCP, *, stateless: bool) -> None:
        """Handle the subscriptions to `server`; in the 2025-11-25 protocol a stateless one has no connections."""
        self._server = server
        # FastMCP handles no subscriptions, and its extensions must not bind a method of the specification.
        add = server._mcp_server.add_request_handler  # noqa: SLF001 - see above
        add("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        if not stateless:
            add("resources/subscribe", SubscribeRequestParams, self._subscribe)
            add("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)

    def open(self) -> None:
        """Start to send, from the running loop."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """Send nothing more."""
        self._loop = None
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _listen(
        self, request: ServerContext, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:MAX_SUBSCRIPTIONS]
        digests = await self._readable(wanted)
        accepted = [uri for uri in wanted if uri in digests and self._has_room(uri)]
        filtered = params.notifications.model_copy(update={"resource_subscriptions": accepted})
        self._watch(accepted, digests)
        try:
            return await self._notifier.listen(request, params.model_copy(update={"notifications": filtered}))
        finally:
            self._unwatch(accepted)

    async def _subscribe(self, request: ServerContext, params: SubscribeRequestParams) -> EmptyResult:
        connection, uri = request.session._connection, str(params.uri)  # noqa: SLF001 - a session lasts but one request
        digests = await self._readable([uri])
        if "\0" in uri:
            raise protocol_error(InvalidArgument("uri", "contains a NUL character"))
        if uri not in digests:
            raise protocol_error(ResourceNotFound(uri, hint="call skills/list for the URIs of skills"))
        if connection not in self._subscribed:
            self._subscribed[connection] = set()
            connection.exit_stack.callback(self._remove, connection)
        subscribed = self._subscribed[connection]
        if uri not in subscribed:
            if len(subscribed) >= MAX_SUBSCRIPTIONS or not self._has_room(uri):
                raise protocol_error(InvalidArgument("uri", "exceeds the maximum number of subscriptions"))
            subscribed.add(uri)
            self._watch([uri], digests)
        return EmptyResult()

    async def _unsubscribe(self, request: ServerContext, params: UnsubscribeRequestParams) -> EmptyResult:
        subscribed = self._subscribed.get(request.session._connection, set())  # noqa: SLF001 - see above
        uri = str(params.uri)
        if uri in subscribed:
            subscribed.remove(uri)
            self._unwatch([uri])
        return EmptyResult()

    def _remove(self, connection: Connection) -> None:
        self._unwatch(self._subscribed.pop(connection, ()))

    async def _readable(self, uris: Sequence[str]) -> dict[str, str]:
        """Return the digests of those that the caller may read."""
        files = [uri for uri in uris if uri.startswith(SCHEME)]
        found: dict[str, str] = {}
        if files:
            # From now on the files are scanned, even if no tool has been called yet.
            self._hub.start()
            digests = await run_in_thread(lambda: self._publisher.digests(files))
            found = {uri: digest for uri, digest in digests.items() if digest is not None}
        for uri in uris:
            if uri not in files and self._server is not None and await self._server.get_resource(uri):
                found[uri] = _UNCHANGING
        return found

    def _has_room(self, uri: str) -> bool:
        return uri in self._watched or len(self._watched) < MAX_WATCHED

    def _watch(self, uris: Iterable[str], digests: Mapping[str, str]) -> None:
        for uri in uris:
            self._watched[uri] += 1
            # Earlier subscribers were notified up to the digest that is already there.
            self._digests.setdefault(uri, digests[uri])

    def _unwatch(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._watched[uri] -= 1
            if not self._watched[uri]:
                del self._watched[uri], self._digests[uri]

    def _on_sync(self) -> None:
        """Schedule a comparison, from the thread that scanned the files."""
        loop = self._loop
        if loop is not None and self._watched and not loop.is_closed():
            # In a context of its own: the caller whose request scanned the files may see less than others.
            loop.call_soon_threadsafe(self._schedule, context=Context())

    def _schedule(self) -> None:
        self._scanned = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._notify_changes())

    async def _notify_changes(self) -> None:
        while self._scanned and self._loop is not None:
            self._scanned = False
            files = [uri for uri in self._watched if uri.startswith(SCHEME)]
            try:
                found = await anyio.to_thread.run_sync(self._publisher.digests, files)
                # A URI without subscriptions by now has no digest to compare.
                changed = {uri for uri in found if uri in self._digests and self._digests[uri] != found[uri]}
                self._digests |= {uri: found[uri] for uri in changed}
                await self._notify_all(changed)
            except SkillHubError as error:
                # Nothing can be read now either; the changes are found again after a later scan.
                log.warning("Subscribers cannot be notified of changed files: %s", error.message)
            except Exception:  # the edge of a task: an unexpected error is reported, and the next scan is compared
                log.exception("Subscribers cannot be notified of changed files")

    async def _notify_all(self, changed: set[str]) -> None:
        log.debug("Notifying subscribers of %d changed files", len(changed))
        for uri in sorted(changed):
            await self._notifier.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as group:
            for connection, uris in list(self._subscribed.items()):
                group.start_soon(self._notify, connection, sorted(uris & changed))

    async def _notify(self, connection: Connection, uris: Sequence[str]) -> None:
        """Notify one client. One that is gone, or has stopped reading, delays the others only a moment."""
        with (
            anyio.move_on_after(_SEND_TIMEOUT_SECONDS),
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            for uri in uris:
                await connection.send_resource_updated(uri)
