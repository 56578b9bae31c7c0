"""A local fake of the APIs of OpenAI and Gemini, for tests with the real SDKs."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

DIMENSION = 64


def embed(text: str) -> list[float]:
    """Return a bag-of-words vector: texts that share words are near."""
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.lower()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:2], "big") % DIMENSION] += 1.0
    return vector if any(vector) else [1.0, *vector[1:]]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class LocalServer:
    """How a self-hosted server differs from OpenAI: what it refuses, and its error.

    It accepts at most `texts` at a time, each of at most `characters`. A `bare` one answers numbers instead of base64,
    without token counts, and does not know `json_object`.
    """

    status: int
    error: Callable[[str], object]
    texts: int = 10_000
    characters: int = 10_000
    bare: bool = False

    def refusal(self, body: Any) -> str:
        """Return why a request is refused, or an empty text."""
        if self.bare and body.get("response_format", {}).get("type") == "json_object":
            return "'response_format.type' must be 'json_schema' or 'text'"
        if "input" not in body:
            return ""
        if len(body["input"]) > self.texts:
            return f"batch size {len(body['input'])} > maximum allowed batch size {self.texts}"
        if any(len(text) > self.characters for text in body["input"]):
            return "the input length exceeds the context length"
        return ""


LOCAL_SERVERS = {
    "Ollama": LocalServer(400, lambda why: {"error": {"message": why, "type": "api_error"}}, characters=1_000),
    "LM Studio": LocalServer(400, lambda why: {"error": why}, bare=True),
    "TEI": LocalServer(413, lambda why: {"message": why, "type": "Validation"}, texts=32, characters=1_000),
    "vLLM": LocalServer(400, lambda why: {"error": {"message": why, "code": 400}}, characters=1_000),
}


@dataclass(slots=True)
class _Trouble:
    statuses: list[tuple[int, str | None]] = field(default_factory=list)
    lasting: tuple[int, str | None] = (200, None)
    answer: Any = None
    page: bytes = b""
    hang: threading.Event | None = None
    drip: threading.Event | None = None
    server: LocalServer | None = None


class EmbeddingApi:
    """The server, on 127.0.0.1, as a context manager. `vector` returns the vector of each text."""

    def __init__(self, vector: Callable[[str], list[float]] = embed) -> None:
        self.requests: list[Recorded] = []
        self._vector = vector
        self._trouble = _Trouble()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if api._thread is None:
                    # A connection from before the server ended.
                    self.close_connection = True
                    return
                api.requests.append(Recorded(self.path, dict(self.headers), body))
                if api._trouble.hang is not None:
                    api._trouble.hang.wait(30)
                    self.close_connection = True
                    return
                if api._trouble.drip is not None:
                    self._drip(api._trouble.drip)
                    return
                status, retry_after = api._next_status(body)
                content = api._content(status, self.path, body, self.headers)
                self.send_response(status)
                self.send_header("content-type", "text/html" if api._trouble.page else "application/json")
                self.send_header("content-length", str(len(content)))
                if retry_after is not None:
                    self.send_header("retry-after", retry_after)
                self.end_headers()
                self.wfile.write(content)

            def _drip(self, until: threading.Event) -> None:
                self.close_connection = True
                with contextlib.suppress(OSError):  # the client may have disconnected
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", "100000")
                    self.end_headers()
                    for _ in range(300):
                        self.wfile.write(b" ")
                        if until.wait(0.1):
                            return

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._handler = Handler
        self._listen(0)

    def _next_status(self, body: Any) -> tuple[int, str | None]:
        server = self._trouble.server
        if server is not None and server.refusal(body):
            return server.status, None
        return self._trouble.statuses.pop(0) if self._trouble.statuses else self._trouble.lasting

    def _content(self, status: int, path: str, body: Any, headers: object) -> bytes:
        trouble = self._trouble
        if trouble.page:
            return trouble.page
        if status != 200 and trouble.server is not None:
            answer: Any = trouble.server.error(trouble.server.refusal(body))
        elif trouble.server is not None and trouble.server.bare and "input" in body:
            answer = openai_answer([self._vector(text) for text in body["input"]])
            del answer["usage"]
        elif status != 200:
            answer = {"error": {"message": f"trouble with {headers}", "code": status, "status": "X"}}
        else:
            answer = trouble.answer if trouble.answer is not None else self._usual_answer(path, body)
        return json.dumps(answer).encode()

    def _usual_answer(self, path: str, body: Any) -> Any:
        if path.endswith("/chat/completions"):
            return chat_answer(fitting(_texts(body)[-1]))
        if path.endswith(":generateContent"):
            return generated_answer(fitting(_texts(body)[-1]))
        vectors = [self._vector(text) for text in _texts(body)]
        if path.endswith("/embeddings"):
            return openai_answer(vectors, as_base64=body.get("encoding_format") == "base64")
        assert path.endswith(":batchEmbedContents"), path
        return gemini_answer(vectors)

    def _listen(self, port: int) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler)
        self._server.daemon_threads = True
        self._thread: threading.Thread | None = None

    def _serve(self) -> None:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self._serve()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go()
        self._stop()

    def _let_go(self) -> None:
        for waiting in (self._trouble.hang, self._trouble.drip):
            if waiting is not None:
                waiting.set()

    def _stop(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._thread = None

    @property
    def base_url(self) -> str:
        """The address without a path, as the Gemini SDK expects it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def url_for(self, provider: str) -> str:
        """The base address to configure for `provider`."""
        return f"{self.base_url}/v1" if provider == "openai" else self.base_url

    @property
    def texts(self) -> list[str]:
        """All received texts, in order."""
        return [text for request in self.requests for text in _texts(request.body)]

    def recover(self) -> None:
        """Answer normally again."""
        self._let_go()
        self._trouble = _Trouble()
        if self._thread is None:
            self._listen(self._server.server_port)
            self._serve()

    def refuse(self) -> None:
        """Refuse connections."""
        self._stop()

    def behave_as(self, server: LocalServer) -> None:
        """Behave like a self-hosted server."""
        self._trouble.server = server

    def answer_page(self, page: bytes) -> None:
        """Answer every request with these bytes, like a proxy."""
        self._trouble.page = page

    def fail(self, *statuses: int, retry_after: str | None = None) -> None:
        """Answer the next requests with these statuses; 200 is a normal answer."""
        self._trouble.statuses = [(status, retry_after) for status in statuses]

    def fail_always(self, status: int, *, retry_after: str | None = None) -> None:
        """Answer every request with this status."""
        self._trouble.lasting = (status, retry_after)

    def answer_with(self, answer: object) -> None:
        """Answer every request with this body."""
        self._trouble.answer = answer

    def hang(self) -> None:
        """Stop answering."""
        self._trouble.hang = threading.Event()

    def drip(self) -> None:
        """Answer one byte at a time for half a minute."""
        self._trouble.drip = threading.Event()


def openai_answer(vectors: list[list[float]], *, as_base64: bool = False) -> Any:
    """The body of OpenAI's answer."""
    encoded: list[Any] = vectors
    if as_base64:
        encoded = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vectors]
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(encoded)]
    # The protocol orders by index, not by position.
    return {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def gemini_answer(vectors: list[list[float]]) -> Any:
    """The body of Gemini's answer."""
    return {"embeddings": [{"values": vector} for vector in vectors]}


def fitting(asked: str) -> str:
    """Pick the skills that share a word with the task, the last one first, as a model would."""
    shown = json.loads(asked)
    words = set(re.findall(r"\w+", shown["task"].lower()))
    found = [one["number"] for one in shown["skills"] if words & set(re.findall(r"\w+", one["description"].lower()))]
    return json.dumps({"fitting": found[::-1]})


def _texts(body: Any) -> list[str]:
    if "input" in body:
        return list(body["input"])
    if "messages" in body:
        return [message["content"] for message in body["messages"]]
    if "contents" in body:
        return ["".join(part["text"] for part in content["parts"]) for content in body["contents"]]
    return ["".join(part["text"] for part in request["content"]["parts"]) for request in body["requests"]]


def chat_answer(text: str) -> Any:
    """The body of OpenAI's answer to a chat."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def generated_answer(text: str) -> Any:
    """The body of Gemini's answer to a prompt."""
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}


# The faults of a provider, until `recover`.
TROUBLES: Mapping[str, Callable[[EmbeddingApi], None]] = {
    "refused": EmbeddingApi.refuse,
    "401": lambda api: api.fail_always(401),
    "429": lambda api: api.fail_always(429, retry_after="1"),
    "500": lambda api: api.fail_always(500),
    "hanging": EmbeddingApi.hang,
    "trickling": EmbeddingApi.drip,
    "html": lambda api: api.answer_page(b"<html><body>Welcome to the proxy</body></html>"),
    "not JSON": lambda api: api.answer_page(b'{"data": ['),
}
