"""Writing the head of an answer together with its body.

uvicorn writes them one after the other. A server that dies between the two leaves a proxy with half an answer, which no
other server can give again; and each write is a call of the system.
"""

from __future__ import annotations

import asyncio
from typing import Any

# More than this is handed on at once, so that a client that reads slowly holds back who writes.
_JOINED_BYTES = 65_536


class JoinedWrites(asyncio.Transport):
    """A transport over another one, which has what is written in one turn of the event loop in one piece."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._pending: list[bytes | bytearray | memoryview] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write `data` when this turn ends, or now where there is much of it."""
        if not data:
            return
        if not self._pending:
            self._loop.call_soon(self._hand_on)
        self._pending.append(data)
        self._size += len(data)
        if self._size >= _JOINED_BYTES:
            self._hand_on()

    def close(self) -> None:
        """Close when all is written."""
        self._hand_on()
        self._transport.close()

    def abort(self) -> None:
        """Close at once, and forget what is not written."""
        self._pending.clear()
        self._size = 0
        self._transport.abort()

    def write_eof(self) -> None:
        """Close the writing end when all is written."""
        self._hand_on()
        self._transport.write_eof()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the system has not taken yet."""
        return self._size + self._transport.get_write_buffer_size()

    def _hand_on(self) -> None:
        if self._pending:
            joined = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
            self._transport.write(joined)

    # The rest is the other transport's.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._transport.get_write_buffer_limits()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()
