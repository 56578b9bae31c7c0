"""Graceful shutdown over HTTP: requests in flight are answered, and open-ended streams are closed."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import uvicorn
from sse_starlette.sse import AppStatus
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)


class DisconnectOnShutdown:
    """An ASGI application that ends its streams on `stop`; `end_subscriptions` ends those of `subscriptions/listen`."""

    def __init__(self, app: ASGIApp, *, end_subscriptions: Callable[[], None]) -> None:
        self._app = app
        self._end_subscriptions = end_subscriptions
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End what only the clients would end. To be called in the application's loop."""
        self._stopping.set()
        self._end_subscriptions()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_stream = scope["type"] == "http" and scope["method"] == "GET"
        try:
            await (self._until_stopped if is_stream else self._app)(scope, receive, send)
        except ClientDisconnect:
            # No client is left to answer, and uvicorn would log a traceback.
            log.debug("A client left before its request was complete")

    async def _until_stopped(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, to which a stop of the server looks like a disconnect of its client."""
        is_open = False

        async def send_and_track(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        async def receive_or_disconnect() -> Message:
            message = asyncio.ensure_future(receive())
            stop = asyncio.ensure_future(self._stopping.wait())
            try:
                await asyncio.wait((message, stop), return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                stop.cancel()

        await self._app(scope, receive_or_disconnect, send_and_track)
        if is_open and self._stopping.is_set():
            # A client resumes a stream with a proper end elsewhere; one that breaks off is an error.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class GracefulServer(uvicorn.Server):
    """A uvicorn server that stops its application before the requests in flight end."""

    def __init__(self, config: uvicorn.Config, app: DisconnectOnShutdown) -> None:
        super().__init__(config)
        self._app = app
        # It would end every stream half a second after the signal, also answers in flight (2025-11-25 protocol).
        AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]  # the package declares no types

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Calls in flight have the configured grace period."""
        self._app.stop()
        await super().shutdown(sockets=sockets)


def exit_cleanly_on_sigterm() -> None:
    """Exit with code 0 on SIGTERM, also before the server runs; uvicorn raises the signal again when it has stopped."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _exit)


def _exit(_: int, __: FrameType | None) -> NoReturn:
    sys.exit(0)
