"""HttpConnections are bounded in number and time: who is silent or slow gives way, and health answers all the same."""

from __future__ import annotations

import asyncio
import http.client
import logging
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from tests.server.bearers import ACCEPT, INITIALIZE, bearing, knock
from tests.server.connections import listening
from tests.server.processes import serving
from uvicorn.server import ServerState

from skillhub_mcp.server.http.acceptor import most_connections
from skillhub_mcp.server.http.connections import (
    SPARE_CONNECTIONS,
    ConnectionLimits,
    HttpConnection,
    HttpConnections,
    OncePerMinute,
    RareWarnings,
)

pytestmark = pytest.mark.slow

TOKEN = "a-token-that-nobody-guesses"


class Clock:
    """A clock that somebody else moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Silent(HttpConnection):
    """A connection of which only the address matters."""

    def __init__(self, address: str = "10.0.0.1", unread: int = 0) -> None:
        self.host = self.address = address
        self.unread = unread
        self.dropped = False

    @property
    def unread_bytes(self) -> int:
        return self.unread

    def drop(self) -> None:
        self.dropped = True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def places(clock: Clock) -> HttpConnections:
    """Four places, three of them for one address that is no proxy."""
    limits = ConnectionLimits(4, 3, 10.0, 1_024, proxies=("10.0.0.9", "fd00::/64"))
    return HttpConnections(limits, clock)


def test_the_one_that_waits_longest_gives_way_and_none_with_a_request(places: HttpConnections, clock: Clock) -> None:
    busy, first, second, third = (Silent(f"10.0.1.{number}") for number in range(4))
    assert all(places.admit(one) for one in (busy, first, second, third))
    places.busy(busy)
    clock.now += 1
    newcomer = Silent("10.0.2.1")
    assert places.admit(newcomer)
    assert [one.dropped for one in (busy, first, second, third, newcomer)] == [False, True, False, False, False]
    # Answered, it waits again: as the last.
    places.waits(busy)
    clock.now += 1
    assert places.admit(Silent("10.0.2.2"))
    assert (second.dropped, busy.dropped) == (True, False)
    assert len(places) == 4


def test_one_address_gives_way_to_itself_and_leaves_the_others_alone(places: HttpConnections, clock: Clock) -> None:
    other, *mine = Silent("10.0.1.1"), Silent(), Silent(), Silent()
    assert all(places.admit(one) for one in (other, *mine))
    clock.now += 1
    assert places.admit(Silent())
    assert (other.dropped, mine[0].dropped) == (False, True)
    for proxy in ("10.0.0.9", "fd00::5"):
        clock.now += 1
        clients = [Silent(proxy) for _ in range(4)]
        assert [places.admit(client) for client in clients] == [True] * 4
        assert [client.dropped for client in clients] == [False] * 4


def test_where_all_are_answering_a_newcomer_gets_a_spare_connection_of_which_there_are_few(
    places: HttpConnections, clock: Clock
) -> None:
    busy = [Silent(f"10.0.1.{number}") for number in range(4)]
    for one in busy:
        places.admit(one)
        places.busy(one)
    clock.now += 1
    spare = [Silent(f"10.0.2.{number}") for number in range(SPARE_CONNECTIONS + 1)]
    assert [places.admit(one) for one in spare] == [False] * len(spare)
    assert [one.dropped for one in spare] == [True] + [False] * SPARE_CONNECTIONS
    assert not any(one.dropped for one in busy)
    places.forget(busy[0])
    assert places.admit(Silent("10.0.3.1"))


def test_one_that_has_just_come_gives_way_to_nobody(places: HttpConnections, clock: Clock) -> None:
    young = [Silent(f"10.0.1.{number}") for number in range(4)]
    assert all(places.admit(one) for one in young)
    assert not places.admit(Silent("10.0.2.1"))
    assert not places.drop_one()
    clock.now += 1
    assert places.drop_one()


def test_a_warning_comes_once_a_minute(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    warning = OncePerMinute(clock)
    for seconds in (0, 30, 29, 1, 1):
        clock.now += seconds
        warning.log("At %d", clock.now)
    assert [record.getMessage() for record in caplog.records] == ["At 1000", "At 1060"]


def test_what_strangers_send_is_warned_of_once_a_minute_and_errors_are_always_told(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("skillhub_mcp.tests.strangers")
    rare = RareWarnings(clock)
    log.addFilter(rare)
    for seconds in (0, 30, 30):
        clock.now += seconds
        log.warning("Invalid")
        log.warning("Unsupported")
        log.error("Exception")
    log.removeFilter(rare)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["Invalid", "Unsupported", "Exception", "Exception", "Invalid", "Unsupported", "Exception"]


class Unread(asyncio.Transport):
    """A transport to a client that reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = asyncio.Event()
        self.left = [100_000]
        self.closing = False

    def get_write_buffer_size(self) -> int:
        """What is left after what was read in between; the last number stays."""
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def is_closing(self) -> bool:
        return self.closing or self.aborted.is_set()

    def abort(self) -> None:
        self.aborted.set()

    def close(self) -> None:
        """What was not read stays in the way."""
        self.closing = True

    def write(self, _: bytes | bytearray | memoryview) -> None:
        """It is not read."""

    def resume_reading(self) -> None:
        """It never paused."""


@pytest.mark.parametrize(
    ("reads_again", "ends", "left", "stays"),
    [
        (False, None, (100_000, 99_999), False),
        (True, None, (100_000,), True),
        (False, HttpConnection.shutdown, (100_000,), False),
        (True, HttpConnection._end, (100_000, 99_999), False),
        # A slow link: the buffer is never empty enough to go on writing, and less each time.
        (False, None, (100_000, 80_000, 80_000), True),
        (True, HttpConnection._end, (100_000, 100_000, 100_000, 80_000, 80_000), True),
    ],
)
def test_a_client_that_does_not_read_its_answer_is_let_go_unless_it_reads_again(
    monkeypatch: pytest.MonkeyPatch,
    places: HttpConnections,
    reads_again: bool,
    ends: Callable[[HttpConnection], None] | None,
    left: tuple[int, ...],
    stays: bool,
) -> None:
    async def go() -> bool:
        limit = "_STALLED_SECONDS_AT_THE_END" if ends is HttpConnection.shutdown else "_STALLED_SECONDS"
        monkeypatch.setattr(f"skillhub_mcp.server.http.connections.{limit}", 0.0)
        config = uvicorn.Config(Starlette(), log_config=None, lifespan="off")
        connection = HttpConnection(config, ServerState(), {}, connections=places)
        transport = Unread()
        transport.left = [*left]
        connection.connection_made(transport)
        connection.pause_writing()
        if reads_again:
            connection.resume_writing()
        if ends is not None:
            ends(connection)
        # Deadlines that were over before come first.
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(0, passed.set)
        await passed.wait()
        connection.connection_lost(ConnectionResetError())
        return transport.aborted.is_set()

    assert asyncio.run(go()) is not stays
    assert len(places) == 0


def test_of_answers_that_nobody_reads_the_oldest_of_the_greediest_address_go(
    places: HttpConnections, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("skillhub_mcp.server.http.connections._MOST_UNREAD_BYTES", 100)
    read_again = Silent("10.0.1.1", 90)
    patient = Silent("10.0.1.2", 40)
    greedy = [Silent("10.0.1.3", 30) for _ in range(4)]
    places.unread(read_again)
    places.read(read_again)
    for one in (patient, *greedy):
        places.unread(one)
    assert [one.dropped for one in (read_again, patient, *greedy)] == [False, False, True, True, False, False]
    assert [record.getMessage() for record in caplog.records] == [
        "10.0.1.3 does not read its answers: those that wait longest are given up"
    ]


def test_every_wait_for_a_client_has_an_end(places: HttpConnections) -> None:
    """Whatever a connection is at, but answering: it has a deadline."""

    async def refuse(_: Scope, __: Receive, send: Send) -> None:
        await PlainTextResponse("No.", status_code=401)({"type": "http"}, _never, send)

    async def go() -> list[bool]:
        config = uvicorn.Config(refuse, log_config=None, lifespan="off")
        state = ServerState()
        connection = HttpConnection(config, state, {}, connections=places)
        connection.connection_made(Unread())
        has_end = [connection._deadline is not None]
        connection.data_received(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Le")
        has_end.append(connection._deadline is not None)
        connection.data_received(b"ngth: 5\r\n\r\n")
        assert connection._deadline is None
        await asyncio.gather(*state.tasks)
        # The rest of the body, then the next request, then the end.
        has_end.append(connection._deadline is not None)
        connection.data_received(b"12345")
        has_end.append(connection._deadline is not None)
        connection.shutdown()
        connection._end()
        has_end.append(connection._stalled is not None)
        connection.connection_lost(ConnectionResetError())
        assert connection._stalled is None
        return has_end

    assert asyncio.run(go()) == [True] * 5


def test_a_request_that_has_not_arrived_does_not_keep_a_server_that_stops(places: HttpConnections) -> None:
    bodies: list[Message] = []

    async def read(_: Scope, receive: Receive, __: Send) -> None:
        bodies.append(await receive())
        bodies.append(await receive())

    async def go() -> bool:
        state = ServerState()
        config = uvicorn.Config(read, log_config=None, lifespan="off")
        connection = HttpConnection(config, state, {}, connections=places)
        transport = Unread()
        connection.connection_made(transport)
        connection.data_received(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n123")
        tasks = [*state.tasks]
        connection.shutdown()
        connection.connection_lost(None)
        await asyncio.gather(*tasks)
        return transport.aborted.is_set()

    assert asyncio.run(go())
    assert bodies[-1]["type"] == "http.disconnect"


async def _never() -> Message:
    raise AssertionError


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_connections_leave_descriptors_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000_000, 1_000_000))
    assert most_connections(512) == 512
    assert not caplog.records
    monkeypatch.setattr(resource, "getrlimit", lambda _: (600, 600))
    assert 300 < most_connections(512) < 512
    assert "the limit of descriptors (ulimit -n) is 600" in caplog.text
    # The index, the watcher and reading skills take their own when the server has started.
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    monkeypatch.setattr("skillhub_mcp.server.http.acceptor._open_descriptors", lambda: 20)
    assert most_connections(512) == 40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8, 8))
    assert most_connections(512) == 4


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that asks for a token, has six places, and waits a second at most."""
    directory = tmp_path_factory.mktemp("impatient")
    (directory / "skills" / "alpha").mkdir(parents=True)
    (directory / "skills" / "alpha" / "SKILL.md").write_text(
        "---\nname: alpha\ndescription: Does alpha.\n---\n", encoding="utf-8"
    )
    environment = {
        "HOME": str(directory),
        "SKILLS_DIR": str(directory / "skills"),
        "DB_PATH": str(directory / "db" / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
        "SKILLHUB_TOKEN": TOKEN,
        "SKILLHUB_MAX_CONNECTIONS": "6",
        "SKILLHUB_HEADER_TIMEOUT_SECONDS": "1",
        "SKILLHUB_BODY_TIMEOUT_SECONDS": "0.2",
        "SKILLHUB_MAX_REQUEST_BYTES": "4096",
    }
    with listening(environment) as url:
        yield url


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as connection:
        yield connection


def status(url: str, path: str) -> int:
    """The status of an answer, asked for on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def to_the_end(connection: socket.socket) -> bytes:
    """What the server says until it closes the connection."""
    said = b""
    try:
        while part := connection.recv(65_536):
            said += part
    except ConnectionResetError:
        pass
    return said


def head(*headers: str) -> bytes:
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_who_sends_nothing_or_headers_without_an_end_is_let_go(impatient: str) -> None:
    with connected(impatient) as silent, connected(impatient) as slow, connected(impatient) as again:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        # A second request on a connection is no different.
        again.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz")
        assert to_the_end(silent) == b""
        assert to_the_end(slow).startswith(b"HTTP/1.1 408 ")
        said = to_the_end(again)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in said


def test_a_strangers_body_is_not_waited_for(impatient: str) -> None:
    with connected(impatient) as announced, connected(impatient) as chunked:
        announced.sendall(head("Content-Length: 4000") + b"{")
        chunked.sendall(head("Transfer-Encoding: chunked") + b"5\r\n{    \r\n")
        for connection in (announced, chunked):
            assert connection.recv(1_000).startswith(b"HTTP/1.1 401 ")


def test_a_stranger_who_goes_on_sending_is_not_listened_to_for_ever(impatient: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            until(lambda: connection.sendall(b"400\r\n" + b" " * 0x400 + b"\r\n"))


def test_a_bearers_body_has_a_deadline(impatient: str) -> None:
    with connected(impatient) as connection:
        connection.sendall(head(f"Authorization: Bearer {TOKEN}", "Content-Length: 4000") + b"{")
        with connection.makefile("rb") as said:
            assert said.readline().startswith(b"HTTP/1.1 408 ")
            size = next(int(line.split()[1]) for line in said if line.startswith(b"content-length"))
            until(lambda: said.readline() == b"\r\n")
            body = said.read(size)
        assert b"REQUEST_TOO_SLOW: The request's body did not arrive within 0.2 seconds." in body


@pytest.mark.parametrize("token", [TOKEN, "wrong"])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_body_that_is_no_http_ends_its_request_without_an_error_of_the_server(
    impatient: str, caplog: pytest.LogCaptureFixture, token: str, at_once: bool
) -> None:
    asked, garbage = head(f"Authorization: Bearer {token}", "Transfer-Encoding: chunked"), b"5\r\n{    no chunk\r\n"
    with connected(impatient) as connection:
        if at_once:
            connection.sendall(asked + garbage)
        else:
            connection.sendall(asked + garbage[:5])
            connection.sendall(garbage[5:])
        assert to_the_end(connection)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 401")
    assert status(impatient, "/healthz") == 200
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_silent_clients_in_every_place_keep_nobody_out(impatient: str) -> None:
    with ExitStack() as silent:
        for _ in range(10):
            silent.enter_context(connected(impatient))
        until(lambda: knock(impatient, TOKEN).status_code == 200)


def test_where_every_place_has_a_stream_others_are_told_to_come_back_and_health_answers(impatient: str) -> None:
    with ExitStack() as streams:
        clients = []
        for _ in range(6):
            session = knock(impatient, TOKEN).headers["mcp-session-id"]
            client = streams.enter_context(httpx2.Client(timeout=30))
            headers = {**bearing(TOKEN), "mcp-session-id": session}
            streams.enter_context(client.stream("GET", impatient, headers=headers))
            clients.append(client)
        refused = httpx2.post(impatient, json=INITIALIZE, headers=bearing(TOKEN))
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.json()["error"]["data"]["code"] == "SERVER_BUSY"
        for _ in range(2 * SPARE_CONNECTIONS):
            assert status(impatient, "/healthz") == 200
        assert status(impatient, "/readyz") == 503
        clients[0].close()
        until(lambda: knock(impatient, TOKEN).status_code == 200)


def until(is_so: Callable[[], object]) -> None:
    """Try until it is so."""
    for _ in range(10_000):
        if is_so():
            return
    raise AssertionError


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is set by prlimit")
def test_with_no_descriptor_left_health_answers_and_the_log_has_one_line(hub_environment: dict[str, str]) -> None:
    with serving(hub_environment) as server, ExitStack() as opened:
        until(lambda: status(server.url, "/readyz") == 200)
        for _ in range(4):
            client = opened.enter_context(httpx2.Client(timeout=30))
            session = client.post(server.url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
            opened.enter_context(client.stream("GET", server.url, headers={**ACCEPT, "mcp-session-id": session}))
        pid = server.process.pid
        highest = max(map(int, (entry.name for entry in Path(f"/proc/{pid}/fd").iterdir())))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, before[1]))
        free = highest + 1 - len(list(Path(f"/proc/{pid}/fd").iterdir()))
        for _ in range(free + 2 * SPARE_CONNECTIONS):
            opened.enter_context(connected(server.url))
        for _ in range(2 * SPARE_CONNECTIONS):
            assert status(server.url, "/healthz") == 200
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        opened.close()
        until(lambda: knock(server.url).status_code == 200)
        server.process.terminate()
        assert server.ended() == 0
    said = "".join(server.said)
    assert said.count("No descriptor is left for another connection") == 1
    assert "Traceback" not in said
