"""A misbehaving site on 127.0.0.1: slow, truncated, redirecting, endless or lying answers."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

Respond = Callable[[socket.socket], None]


@dataclass
class LyingSite:
    """A running site. `answers` are by path; `asked` are the requests with their headers."""

    url: str
    answers: dict[str, Respond] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def paths(self) -> list[str]:
        """The requested paths."""
        return [request.path for request in self.asked]


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]


def whole(body: bytes, *, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> Respond:
    """A complete answer."""
    given = {"content-length": str(len(body)), **(headers or {})}
    return lambda client: client.sendall(_head(status, given) + body)


def leads_to(url: str, *, status: str = "302 Found") -> Respond:
    """A redirect."""
    return whole(b"", status=status, headers={"location": url})


def torn(body: bytes, *, missing: int) -> Respond:
    """An answer that ends before its declared length."""
    return lambda client: client.sendall(_head("200 OK", {"content-length": str(len(body) + missing)}) + body)


def silent(over: threading.Event) -> Respond:
    """Headers, and then nothing until the test ends."""

    def respond(client: socket.socket) -> None:
        client.sendall(_head("200 OK", {"content-length": "1000"}))
        over.wait(30)

    return respond


def dripping(over: threading.Event, pause: float) -> Respond:
    """An endless body, sent a few bytes at a time without a long wait."""

    def respond(client: socket.socket) -> None:
        client.sendall(_head("200 OK", {"transfer-encoding": "chunked"}))
        while not over.wait(pause):
            client.sendall(b"1\r\nx\r\n")

    return respond


def endless(over: threading.Event, piece: bytes = b"x" * 65_536) -> Respond:
    """An endless chunked body."""

    def respond(client: socket.socket) -> None:
        client.sendall(_head("200 OK", {"transfer-encoding": "chunked"}))
        while not over.is_set():
            client.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    return respond


def bomb(size: int) -> Respond:
    """Zeros as unrequested gzip."""
    return whole(gzip.compress(bytes(size)), headers={"content-encoding": "gzip"})


def rubbish(client: socket.socket) -> None:
    """An answer that is not HTTP."""
    client.sendall(b"220 mail.example ESMTP ready\r\n")


@contextmanager
def lying_site(certificate: tuple[Path, Path] | None = None) -> Iterator[LyingSite]:
    """Serve at a free port, with a `certificate` over https. A path without an answer is 404."""
    listener = socket.create_server(("127.0.0.1", 0))
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        # The TLS handshake must not block accepting connections.
        listener = context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)
        scheme = "https"
    site = LyingSite(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")
    threading.Thread(target=_accept, args=(listener, site), daemon=True).start()
    try:
        yield site
    finally:
        site.over.set()
        listener.close()


def _accept(listener: socket.socket, site: LyingSite) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, site), daemon=True).start()


def _serve(client: socket.socket, site: LyingSite) -> None:
    with client, suppress(OSError):
        received = b""
        while b"\r\n\r\n" not in received:
            more = client.recv(65_536)
            if not more:
                return
            received += more
        first, *lines = received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        path = first.split(" ")[1]
        site.asked.append(Asked(path, headers))
        site.answers.get(path, whole(b"nothing\n", status="404 Not Found"))(client)


def _head(status: str, headers: Mapping[str, str]) -> bytes:
    given = {"connection": "close", **headers}
    return "".join(
        [f"HTTP/1.1 {status}\r\n", *(f"{name}: {value}\r\n" for name, value in given.items()), "\r\n"]
    ).encode()
