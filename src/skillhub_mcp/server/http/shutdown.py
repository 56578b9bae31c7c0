"""How does a server over HTTP stop? What is being answered is answered; streams without an end of their own are ended.

Such a stream is the GET of the older era, or what `subscriptions/listen` answers in the newer one: both wait for
whatever may come, and would keep a server that wants to stop until its patience is over.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class DisconnectOnShutdown:
    """An ASGI application that can be told that its process is about to end. `stop_listening` ends what listens."""

    def __init__(self, app: ASGIApp, *, stop_listening: Callable[[], None]) -> None:
        self._app = app
        self._stop_listening = stop_listening
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the streams that only their clients would end. From the loop that runs the application."""
        self._stopping.set()
        self._stop_listening()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            await self._until_stopped(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _until_stopped(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, which hears when the server stops that its client went away."""
        open_still = False

        async def noting(message: Message) -> None:
            nonlocal open_still
            open_still = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        async def next_message() -> Message:
            heard = asyncio.ensure_future(receive())
            stop = asyncio.ensure_future(self._stopping.wait())
            try:
                await asyncio.wait((heard, stop), return_when=asyncio.FIRST_COMPLETED)
                return heard.result() if heard.done() else {"type": "http.disconnect"}
            finally:
                heard.cancel()
                stop.cancel()

        await self._app(scope, next_message, noting)
        if open_still and self._stopping.is_set():
            # A stream that ends as it should is taken up again elsewhere; one that breaks off is an error to a client.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class GracefulServer(uvicorn.Server):
    """uvicorn's server, which tells its application before it waits for the answers in flight."""

    def __init__(self, config: uvicorn.Config, app: DisconnectOnShutdown) -> None:
        super().__init__(config)
        self._app = app
        # It would end, half a second after the signal, every stream of the older era: also the answers in flight.
        AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]  # the package declares no types

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Calls that are being answered have the time that the configuration gives them."""
        self._app.stop()
        await super().shutdown(sockets=sockets)


def end_well_when_told() -> None:
    """Let SIGTERM end this process with code 0, also before it serves; uvicorn raises it again when it has stopped."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _leave)


def _leave(_: int, __: FrameType | None) -> NoReturn:
    sys.exit(0)
