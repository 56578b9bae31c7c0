"""Accepting goes on after every error of a client or of the machine, and tells of its own."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

import pytest

from skillhub_mcp.server.http.acceptor import Acceptor
from skillhub_mcp.server.http.connections import ConnectionLimits, HttpConnection, HttpConnections

LIMITS = ConnectionLimits(4, 4, 10.0, 1_024)


class Failing(socket.socket):
    """A listener whose first tries to accept fail."""

    failures: tuple[int, ...] = ()

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            number, *rest = self.failures
            self.failures = tuple(rest)
            raise OSError(number, "made up")
        return super().accept()


def reached(make: Callable[..., HttpConnection], *failures: int) -> int:
    """Let a client knock, and return how often the failure of accepting was told once `make` was called."""

    async def go() -> int:
        failed: list[bool] = []
        called = asyncio.Event()

        def make_and_tell(**given: object) -> HttpConnection:
            asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, called.set)
            return make(**given)

        with Failing() as listener, socket.socket() as client:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listener.failures = failures
            client.connect(listener.getsockname())
            acceptor = Acceptor(listener, HttpConnections(LIMITS), make_and_tell, lambda: failed.append(True))
            await called.wait()
            await acceptor.close()
        return len(failed)

    return asyncio.run(go())


def broken(**_: object) -> HttpConnection:
    raise ValueError("broken")


def gone(**_: object) -> HttpConnection:
    raise ConnectionResetError


def test_a_failure_of_its_own_is_told_and_ends_the_server(caplog: pytest.LogCaptureFixture) -> None:
    assert reached(broken) == 1
    (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert told.getMessage() == "Accepting connections failed; the server ends"


def test_clients_that_go_away_and_limits_of_the_machine_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert reached(gone, errno.ECONNABORTED, errno.EPROTO, errno.EMFILE, errno.ENFILE) == 0
    assert [record.getMessage()[:30] for record in caplog.records if record.levelno >= logging.WARNING] == [
        "No descriptor is left for anot"
    ]
