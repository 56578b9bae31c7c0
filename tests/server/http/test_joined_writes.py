"""What is written in one turn of the event loop goes out in one piece."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from skillhub_mcp.server.http.joined_writes import JoinedWrites


class Wire:
    """Both ends of a connection, one below JoinedWrites, and the pieces that were written to it."""

    def __init__(self, transport: asyncio.Transport, client: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pieces: list[bytes] = []
        self.joined = JoinedWrites(transport, asyncio.get_running_loop())
        self._client = client
        write: Callable[[bytes], None] = transport.write

        def written(piece: bytes) -> None:
            self.pieces.append(piece)
            write(piece)

        monkeypatch.setattr(transport, "write", written)

    async def rest(self) -> bytes:
        """Return all that the client reads until the connection is closed."""
        loop, received = asyncio.get_running_loop(), b""
        while piece := await loop.sock_recv(self._client, 1 << 20):
            received += piece
        return received


@pytest.fixture
def on_a_wire(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Wire], object]], bytes]:
    """Do something to a connection and close it; return what its client read."""

    def run(do: Callable[[Wire], object]) -> bytes:
        async def both() -> bytes:
            ours, theirs = socket.socketpair()
            with ours, theirs:
                theirs.setblocking(False)
                transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
                wire = Wire(transport, theirs, monkeypatch)
                result = do(wire)
                if asyncio.iscoroutine(result):
                    await result
                return await wire.rest()

        return asyncio.run(both())

    return run


Run = Callable[[Callable[[Wire], object]], bytes]


def test_a_head_and_its_body_are_one_write(on_a_wire: Run) -> None:
    seen: list[Wire] = []

    async def answer(wire: Wire) -> None:
        seen.append(wire)
        for _ in range(2):
            wire.joined.write(b"head ")
            wire.joined.write(b"")
            wire.joined.write(b"body ")
            assert wire.joined.get_write_buffer_size() == len(b"head body ")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        wire.joined.close()

    assert on_a_wire(answer) == b"head body head body "
    assert seen[0].pieces == [b"head body "] * 2


def test_much_is_written_at_once_so_that_its_writer_is_held_back(on_a_wire: Run) -> None:
    seen: list[Wire] = []

    def answer(wire: Wire) -> None:
        seen.append(wire)
        wire.joined.write(b"head ")
        wire.joined.write(b"x" * 70_000)
        assert [len(piece) for piece in wire.pieces] == [70_005]
        wire.joined.write(b"tail")
        wire.joined.close()

    assert on_a_wire(answer) == b"head " + b"x" * 70_000 + b"tail"
    assert seen[0].pieces[1:] == [b"tail"]


def test_what_was_not_written_is_forgotten_where_the_connection_is_broken_off(on_a_wire: Run) -> None:
    def answer(wire: Wire) -> None:
        wire.joined.write(b"never")
        wire.joined.abort()
        assert wire.joined.is_closing()
        assert wire.joined.get_write_buffer_size() == 0

    assert on_a_wire(answer) == b""
