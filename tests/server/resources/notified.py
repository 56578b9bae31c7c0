"""Clients that are notified of changes, in both protocol versions."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import mcp
import mcp_types
from mcp.shared.subscriptions import ResourceUpdated
from tests.server.connections import in_memory, listening

LONG = 30
LIST_CHANGED = "notifications/resources/list_changed"


class Notified:
    """A client, the URIs and methods that it was notified of, and the URIs that the server accepted."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.agreed: list[str] = []

    async def next(self) -> str:
        return await asyncio.wait_for(self.heard.get(), LONG)

    async def subscribe(self, uri: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the 2025-11-25 protocol's method is deprecated, and still there
            await self.client.subscribe_resource(uri)


@asynccontextmanager
async def notified(target: Any, mode: str, *uris: str) -> AsyncIterator[Notified]:
    """A client that is notified of changes of `uris`; without any, of changes of the list."""
    made: list[Notified] = []

    async def on_message(message: object) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            made[0].heard.put_nowait(str(message.params.uri))
        elif isinstance(message, mcp_types.ResourceListChangedNotification) and not uris:
            made[0].heard.put_nowait(message.method)

    # In the 2026-07-28 protocol it comes on the requested stream, and the SDK passes it to both.
    async with mcp.Client(target, mode=mode, message_handler=on_message if mode == "legacy" else None) as client:
        made.append(Notified(client))
        if mode == "legacy":
            for uri in uris:
                await made[0].subscribe(uri)
            yield made[0]
            return
        async with client.listen(resources_list_changed=not uris, resource_subscriptions=uris) as subscription:
            made[0].agreed = list(subscription.honored.resource_subscriptions or ())

            async def relay() -> None:
                async for event in subscription:
                    made[0].heard.put_nowait(event.uri if isinstance(event, ResourceUpdated) else LIST_CHANGED)

            relaying = asyncio.create_task(relay())
            try:
                yield made[0]
            finally:
                relaying.cancel()
                await asyncio.gather(relaying, return_exceptions=True)


@asynccontextmanager
async def notified_by(way: tuple[str, str], environment: Mapping[str, str], *uris: str) -> AsyncIterator[Notified]:
    """Such a client of a new server, by one of the four ways."""
    transport, mode = way
    with listening(environment) if transport == "http" else nullcontext(in_memory(environment)) as target:
        async with notified(target, mode, *uris) as client:
            yield client
