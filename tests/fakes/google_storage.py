"""Google Cloud Storage on 127.0.0.1, as far as its XML API is documented: generations, conditions, ranges, lists.

The emulators there are refuse or garble writes over that API, by which the object_store crate writes.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class _Objects:
    """The objects of all buckets, by path, each with its generation."""

    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    generation: int = 1_700_000_000_000_000

    def put(self, path: str, content: bytes, expected: str | None) -> int | None:
        """Store an object if its generation is the expected one, 0 for none; return the new one, None for a refusal."""
        with self.lock:
            present = self.objects.get(path, (b"", 0))[1]
            if expected is not None and int(expected) != present:
                return None
            self.generation += 1
            self.objects[path] = (content, self.generation)
            return self.generation


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    storage: _Objects

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        source = self.headers["x-goog-copy-source"]
        if source is not None:
            content = self.storage.objects["/" + unquote(source).lstrip("/")][0]
        generation = self.storage.put(self._path, content, self.headers["x-goog-if-generation-match"])
        if generation is None:
            self._answer(412)
        else:
            self._answer(200, headers={"ETag": _tag(content), "x-goog-generation": str(generation)})

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self._answer(200, self._listed(query.get("prefix", [""])[0]).encode())
            return
        found = self.storage.objects.get(self._path)
        if found is None:
            self._answer(404)
            return
        content, generation = found
        said = {
            "ETag": _tag(content),
            "x-goog-generation": str(generation),
            "Last-Modified": formatdate(generation / 1e6, usegmt=True),
        }
        if self.headers["if-none-match"] == _tag(content):
            self._answer(304, headers=said)
            return
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["range"] or "")
        if part is None:
            self._answer(200, content, said)
            return
        first, last = int(part[1]), min(int(part[2]), len(content) - 1)
        said["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._answer(206, content[first : last + 1], said)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self._answer(204 if self.storage.objects.pop(self._path, None) else 404)

    @property
    def _path(self) -> str:
        return unquote(urlsplit(self.path).path)

    def _listed(self, prefix: str) -> str:
        bucket = f"{self._path.rstrip('/')}/"
        found = sorted(path for path in self.storage.objects if path.startswith(bucket + prefix))
        entries = "".join(
            f"<Contents><Key>{escape(path.removeprefix(bucket))}</Key><Size>{len(self.storage.objects[path][0])}</Size>"
            "<LastModified>2026-11-23T00:00:00.000Z</LastModified></Contents>"
            for path in found
        )
        return f"<ListBucketResult>{entries}</ListBucketResult>"

    def _answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if status != 304 and self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def google_storage(folder: Path) -> Iterator[dict[str, str]]:
    """Run it while the context lasts, and yield what SKILLHUB_STORAGE_OPTIONS has to say; an account is in `folder`."""
    handler = type("Handler", (_Handler,), {"storage": _Objects()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    account = {
        "gcs_base_url": f"http://127.0.0.1:{server.server_port}",
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    (folder / "account.json").write_text(json.dumps(account), encoding="utf-8")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield {"google_service_account_path": str(folder / "account.json"), "allow_http": "true"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
