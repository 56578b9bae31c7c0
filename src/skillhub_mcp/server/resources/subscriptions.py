"""Who hears that one file of a skill has changed? Whoever asked for its URI, until they ask no more or are gone.

In the older era by `resources/subscribe`, in the newer one by `subscriptions/listen`. A URI that whoever asks may not
have is refused in the older era and left out of the acknowledgement in the newer one.
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
from skillhub_mcp.server.middleware.error_handling import answered, protocol_error
from skillhub_mcp.server.resources.list_changed import Asked, ListChangedNotifier

log = logging.getLogger(__name__)

# Of one connection, or one stream.
MAX_SUBSCRIPTIONS = 256
# Of all clients: each is looked at after every look at the files.
MAX_WATCHED = 4_096
_PATIENCE_SECONDS = 5.0
# What is no file of a skill never changes: a server that is built on this one may have such resources.
_UNCHANGING = ""


class ResourceSubscriptions:
    """Tells of single files of one hub, in the newer era through `announcer`. `open` and `close` are the lifespan's."""

    def __init__(self, hub: SkillHub, publisher: Publisher, announcer: ListChangedNotifier) -> None:
        self._hub = hub
        self._publisher = publisher
        self._announcer = announcer
        self._server: FastMCP | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._telling: asyncio.Task[None] | None = None
        self._looked_since = False
        # By how many each URI is watched, and the digest that was last seen there.
        self._watched: Counter[str] = Counter()
        self._digests: dict[str, str | None] = {}
        self._subscribed: dict[Connection, set[str]] = {}
        hub.on_sync(self._looked)

    def serve(self, server: FastMCP, *, stateless: bool) -> None:
        """Take the subscriptions of `server`'s clients; a stateless one has nobody to tell in the older era."""
        self._server = server
        # FastMCP serves no subscriptions of its own and its extensions may not bind a method of the specification.
        add = server._mcp_server.add_request_handler  # noqa: SLF001 - see above
        add("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        if not stateless:
            add("resources/subscribe", SubscribeRequestParams, self._subscribe)
            add("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)

    def open(self) -> None:
        """Begin to tell, from the running loop."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """Tell nothing more."""
        self._loop = None
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling

    async def _listen(self, asked: Asked, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:MAX_SUBSCRIPTIONS]
        digests = await self._there(wanted)
        taken = [uri for uri in wanted if uri in digests and self._has_room(uri)]
        filtered = params.notifications.model_copy(update={"resource_subscriptions": taken})
        self._watch(taken, digests)
        try:
            return await self._announcer.listen(asked, params.model_copy(update={"notifications": filtered}))
        finally:
            self._unwatch(taken)

    async def _subscribe(self, asked: Asked, params: SubscribeRequestParams) -> EmptyResult:
        connection, uri = asked.session._connection, str(params.uri)  # noqa: SLF001 - a session lasts but one request
        digests = await self._there([uri])
        if uri not in digests:
            raise protocol_error(ResourceNotFound(uri, hint="ask skills/list for the URIs of skills"))
        if connection not in self._subscribed:
            self._subscribed[connection] = set()
            connection.exit_stack.callback(self._forget, connection)
        mine = self._subscribed[connection]
        if uri not in mine:
            if len(mine) >= MAX_SUBSCRIPTIONS or not self._has_room(uri):
                raise protocol_error(InvalidArgument("uri", "is one more than can be subscribed to"))
            mine.add(uri)
            self._watch([uri], digests)
        return EmptyResult()

    async def _unsubscribe(self, asked: Asked, params: UnsubscribeRequestParams) -> EmptyResult:
        mine = self._subscribed.get(asked.session._connection, set())  # noqa: SLF001 - see above
        uri = str(params.uri)
        if uri in mine:
            mine.remove(uri)
            self._unwatch([uri])
        return EmptyResult()

    def _forget(self, connection: Connection) -> None:
        self._unwatch(self._subscribed.pop(connection, ()))

    async def _there(self, uris: Sequence[str]) -> dict[str, str]:
        """Return the digests of those that whoever asks may have."""
        files = [uri for uri in uris if uri.startswith(SCHEME)]
        found: dict[str, str] = {}
        if files:
            # From now on somebody looks at the files, also where nobody has asked for a tool yet.
            self._hub.start()
            digests = await answered(lambda: self._publisher.digests(files))
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
            # Whoever watches it already has heard of what was seen then, and of nothing since.
            self._digests.setdefault(uri, digests[uri])

    def _unwatch(self, uris: Iterable[str]) -> None:
        for uri in uris:
            self._watched[uri] -= 1
            if not self._watched[uri]:
                del self._watched[uri], self._digests[uri]

    def _looked(self) -> None:
        """Hear of a look at the files, in the thread that looked."""
        loop = self._loop
        if loop is not None and self._watched and not loop.is_closed():
            # In a context of its own: a caller who had the files looked at sees less than others, maybe.
            loop.call_soon_threadsafe(self._tell_soon, context=Context())

    def _tell_soon(self) -> None:
        self._looked_since = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.ensure_future(self._tell_of_changes())

    async def _tell_of_changes(self) -> None:
        while self._looked_since and self._loop is not None:
            self._looked_since = False
            files = [uri for uri in self._watched if uri.startswith(SCHEME)]
            try:
                found = await anyio.to_thread.run_sync(self._publisher.digests, files)
                # What nobody watches any more by now concerns nobody.
                changed = {uri for uri in found if uri in self._digests and self._digests[uri] != found[uri]}
                self._digests |= {uri: found[uri] for uri in changed}
                await self._tell(changed)
            except SkillHubError as error:
                # Nobody can read anything either; what has changed by then is told after a later look.
                log.warning("Nobody can be told which files have changed: %s", error.message)
            except Exception:  # the edge of a task: what nobody foresaw is reported, and the next look is told of
                log.exception("Nobody can be told which files have changed")

    async def _tell(self, changed: set[str]) -> None:
        log.debug("Telling of %d files that have changed", len(changed))
        for uri in sorted(changed):
            await self._announcer.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as telling:
            for connection, uris in list(self._subscribed.items()):
                telling.start_soon(self._tell_one, connection, sorted(uris & changed))

    async def _tell_one(self, connection: Connection, uris: Sequence[str]) -> None:
        """Send its words to one client; one that is gone, or has stopped reading, delays the others but a moment."""
        with (
            anyio.move_on_after(_PATIENCE_SECONDS),
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            for uri in uris:
                await connection.send_resource_updated(uri)
