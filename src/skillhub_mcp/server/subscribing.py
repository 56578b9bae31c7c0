"""Who hears that one file of a skill has changed? Whoever asked for its URI, until they ask no more or are gone.

In the older era by `resources/subscribe`, in the newer one by `subscriptions/listen`. A URI that whoever asks may not
have is refused there and left out here, so that nobody hears of what is hidden from them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence

import anyio
import anyio.to_thread
import mcp_types
from fastmcp import FastMCP
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

from skillhub_mcp.errors import InvalidArgument, ResourceNotFound, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.publisher import Publisher
from skillhub_mcp.publishing.uris import SCHEME
from skillhub_mcp.server.boundary import protocol_error

log = logging.getLogger(__name__)

# Each is looked at after every change of any file.
MAX_SUBSCRIPTIONS = 256
_PATIENCE_SECONDS = 5.0

_Asked = ServerRequestContext[object, object]


class Subscribing:
    """Tells of single files of one hub. `serve`, `open` and `close` belong to the server's lifespan.

    `listening` answers `subscriptions/listen` with what `bus` says.
    """

    def __init__(
        self, hub: SkillHub, publisher: Publisher, bus: InMemorySubscriptionBus, listening: ListenHandler
    ) -> None:
        self._hub = hub
        self._publisher = publisher
        self._bus = bus
        self._listening = listening
        self._server: FastMCP | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_since = False
        # What is watched, by how many, and the digest that was last seen of it.
        self._watched: Counter[str] = Counter()
        self._digests: dict[str, str | None] = {}
        self._subscribed: dict[Connection, set[str]] = {}
        hub.on_look(self._looked)

    def serve(self, server: FastMCP, *, stateless: bool) -> None:
        """Take the subscriptions of `server`'s clients; a stateless one has nobody to tell in the older era."""
        self._server = server
        # FastMCP serves no subscriptions of its own and its extensions may not bind a method of the specification.
        add = server._mcp_server.add_request_handler  # noqa: SLF001 - see above
        add("subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, self._listen)
        if not stateless:
            add("resources/subscribe", mcp_types.SubscribeRequestParams, self._subscribe)
            add("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, self._unsubscribe)

    def open(self) -> None:
        """Begin to tell, from the running loop."""
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        """Tell nothing more."""
        self._loop = None
        if self._looking is not None:
            self._looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._looking

    async def _listen(
        self, asked: _Asked, params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:MAX_SUBSCRIPTIONS]
        digests = await self._there(wanted) if wanted else {}
        there = [uri for uri in wanted if digests[uri] is not None]
        # What is left out is missing from the answer too, where the client can see it.
        filtered = params.notifications.model_copy(update={"resource_subscriptions": there})
        self._watch(digests, there)
        try:
            return await self._listening(asked, params.model_copy(update={"notifications": filtered}))
        finally:
            self._unwatch(there)

    async def _subscribe(self, asked: _Asked, params: mcp_types.SubscribeRequestParams) -> mcp_types.EmptyResult:
        connection, uri = asked.session._connection, str(params.uri)  # noqa: SLF001 - a session lasts but one request
        digests = await self._there([uri])
        if digests[uri] is None and not await self._is_other(uri):
            raise protocol_error(ResourceNotFound(uri, hint="ask skills/list for the URIs of skills"))
        if connection not in self._subscribed:
            self._subscribed[connection] = set()
            connection.exit_stack.callback(self._forget, connection)
        mine = self._subscribed[connection]
        if uri not in mine:
            if len(mine) >= MAX_SUBSCRIPTIONS:
                raise protocol_error(InvalidArgument("uri", f"is one more than {MAX_SUBSCRIPTIONS} subscriptions"))
            mine.add(uri)
            self._watch(digests, [uri])
        return mcp_types.EmptyResult()

    async def _unsubscribe(self, asked: _Asked, params: mcp_types.UnsubscribeRequestParams) -> mcp_types.EmptyResult:
        mine = self._subscribed.get(asked.session._connection, set())  # noqa: SLF001 - see above
        uri = str(params.uri)
        if uri in mine:
            mine.remove(uri)
            self._unwatch([uri])
        return mcp_types.EmptyResult()

    async def _is_other(self, uri: str) -> bool:
        """Whether the server has a resource there that is no file of a skill, and so never changes."""
        return not uri.startswith(SCHEME) and self._server is not None and bool(await self._server.get_resource(uri))

    def _forget(self, connection: Connection) -> None:
        self._unwatch(self._subscribed.pop(connection, ()))

    def _watch(self, digests: dict[str, str | None], uris: Sequence[str]) -> None:
        for uri in uris:
            self._watched[uri] += 1
            self._digests.setdefault(uri, digests[uri])

    def _unwatch(self, uris: Sequence[str] | set[str]) -> None:
        for uri in uris:
            self._watched[uri] -= 1
            if not self._watched[uri]:
                del self._watched[uri], self._digests[uri]

    async def _there(self, uris: Sequence[str]) -> dict[str, str | None]:
        """Return the digest of what whoever asks may have at each URI, None where there is nothing."""
        # From now on somebody looks at the files, also where nobody has asked for a tool yet.
        self._hub.start()
        try:
            return await anyio.to_thread.run_sync(self._publisher.digests, uris)
        except SkillHubError as error:
            raise protocol_error(error) from error

    def _looked(self) -> None:
        """Hear of a look at the files, in the thread that looked."""
        loop = self._loop
        if loop is not None and self._watched and not loop.is_closed():
            loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._looked_since = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._tell_of_changes())

    async def _tell_of_changes(self) -> None:
        while self._looked_since and self._loop is not None:
            self._looked_since = False
            try:
                found = await anyio.to_thread.run_sync(self._publisher.digests, list(self._watched))
            except SkillHubError as error:
                # Nobody can read anything either; what has changed by then is told after the next look.
                log.warning("Nobody can be told which files have changed: %s", error.message)
                continue
            for uri, digest in found.items():
                if uri in self._digests and self._digests[uri] != digest:
                    self._digests[uri] = digest
                    await self._tell(uri)

    async def _tell(self, uri: str) -> None:
        log.debug("Telling whoever subscribed that %s has changed", uri)
        await self._bus.publish(ResourceUpdated(uri=uri))
        async with anyio.create_task_group() as telling:
            for connection, uris in list(self._subscribed.items()):
                if uri in uris:
                    telling.start_soon(self._tell_one, connection, uri)

    async def _tell_one(self, connection: Connection, uri: str) -> None:
        """Send the word to one client; one that is gone, or has stopped reading, keeps it from nobody else."""
        with (
            anyio.move_on_after(_PATIENCE_SECONDS),
            contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            await connection.send_resource_updated(uri)
