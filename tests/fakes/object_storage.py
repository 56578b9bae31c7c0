"""S3 on 127.0.0.1: moto's, which keeps objects in memory, behind a door that can fail as storage does in life."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen

Answer = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_CONDITIONS = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"}


@dataclass
class Faults:
    """The faults that are due, and the requests that came: how many of each method, and their paths.

    Kinds: `503` and `403` are such answers; `half` sends half of the body and closes; `wrong` changes one byte of it;
    `slow` waits two seconds.
    """

    due: list[tuple[str, str, str]] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    paths: list[str] = field(default_factory=list)
    conditional: threading.Lock = field(default_factory=threading.Lock)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, method: str, path: str, kind: str, *, times: int = 1) -> None:
        """Let the next `times` requests of a method whose path matches fail."""
        self.due += [(method, path, kind)] * times

    def take(self, method: str, path: str) -> str | None:
        with self._lock:
            self.requests[method] += 1
            self.paths.append(f"{method} {path}")
            for fault in self.due:
                if fault[0] == method and re.search(fault[1], path):
                    self.due.remove(fault)
                    return fault[2]
        return None


def _faulty(app: Any, faults: Faults) -> Answer:
    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        kind = faults.take(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if kind in ("503", "403"):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            reason = {"503": "Slow Down", "403": "Forbidden"}[kind]
            start(f"{kind} {reason}", [("Content-Type", "application/xml"), ("Content-Length", "0")])
            return []
        if kind == "slow":
            time.sleep(2)
        if kind in ("half", "wrong"):
            # The length stays that of the whole: the connection ends before it was sent.
            body = b"".join(app(environ, start))
            return [body[: len(body) // 2]] if kind == "half" else [body[:-1] + bytes([body[-1] ^ 1])]
        if environ["REQUEST_METHOD"] == "PUT" and environ.keys() & _CONDITIONS:
            # S3 compares and writes at once; moto compares, and lets another thread write before it does.
            with faults.conditional:
                return list(app(environ, start))
        return app(environ, start)  # type: ignore[no-any-return]

    return answer


@dataclass(frozen=True)
class ObjectStorage:
    """A running server: its address and its faults."""

    endpoint: str
    faults: Faults

    @property
    def options(self) -> dict[str, str]:
        """What SKILLHUB_STORAGE_OPTIONS has to say."""
        return {
            "aws_access_key_id": "an-access-key",
            "aws_secret_access_key": "a-very-secret-key",
            "region": "us-east-1",
            "endpoint": self.endpoint,
            "allow_http": "true",
        }

    @property
    def setting(self) -> str:
        """The same as a setting's text."""
        return ",".join(f"{key}={value}" for key, value in self.options.items())

    def make_bucket(self, name: str) -> str:
        """Make an empty bucket and return its URL."""
        urlopen(Request(f"{self.endpoint}/{name}", method="PUT"), timeout=10).close()
        return f"s3://{name}"


@contextmanager
def object_storage() -> Iterator[ObjectStorage]:
    """Run the server while the context lasts, on a free port of 127.0.0.1."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    faults = Faults()
    app = _faulty(DomainDispatcherApplication(create_backend_app), faults)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    try:
        yield ObjectStorage(f"http://127.0.0.1:{server.server_port}", faults)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
