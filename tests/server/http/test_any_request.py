"""Whatever is sent to the endpoint, in either era, is answered without an internal error and leaves nothing."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening

from skillhub_mcp.server.http.shutdown import GracefulServer

pytestmark = pytest.mark.slow

OLDER, NEWER = "2025-11-25", "2026-07-28"
URI = "skill://hub/alpha/SKILL.md"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("initialize", {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "any", "version": "1"}}),
    ("server/discover", {}),
    ("ping", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "search_skills", "arguments": {"query": "alpha", "limit": 3}}),
    ("tools/call", {"name": "load_skill", "arguments": {"skill_name": "alpha", "session": "x"}}),
    ("tools/call", {"name": "read_skill_file", "arguments": {"skill_name": "alpha", "file_path": "SKILL.md"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": URI}),
    ("resources/subscribe", {"uri": URI}),
    ("resources/directory/read", {"uri": "skill://hub/alpha"}),
    ("skills/list", {}),
    ("skills/get", {"uri": URI}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "skill", "arguments": {"name": "alpha"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "skill"}, "argument": {"name": "name", "value": "a"}},
    ),
    ("logging/setLevel", {"level": "info"}),
    ("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}),
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": 1, "reason": "x"}),
    ("notifications/progress", {"progressToken": 1, "progress": 1.0}),
)
META = {
    "io.modelcontextprotocol/protocolVersion": NEWER,
    "io.modelcontextprotocol/clientInfo": {"name": "any", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

TEXT = st.sampled_from(("alpha", URI, "skill://", "../..", "\0", "x" * 3_000)) | st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
BODIES = st.one_of(
    JSON.map(lambda anything: json.dumps(anything).encode()),
    st.binary(max_size=50),
    st.sampled_from((b"[" * 5_000, b'{"a":' * 5_000, b"9" * 5_000, b'{"id":1,"method":"\\ud800","jsonrpc":"2.0"}')),
)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "accept": st.sampled_from((*ACCEPT.values(), "application/json", "text/event-stream", "*/*", "")) | VALUES,
        "content-type": st.sampled_from(("application/json", "application/json; charset=latin1", "text/plain"))
        | VALUES,
        "mcp-protocol-version": st.sampled_from((OLDER, NEWER, "2024-11-05", "")) | VALUES,
        "mcp-session-id": VALUES,
        "mcp-method": VALUES,
        "mcp-name": VALUES,
        "last-event-id": VALUES,
        "authorization": VALUES,
        "transfer-encoding": st.just("chunked"),
    },
)
MOSTLY = st.sampled_from((True, True, True, True, False))
MOSTLY_NONE = MOSTLY.flatmap(lambda none: st.just({}) if none else HEADERS)


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """A message that would do, but for one value in it."""
    method, params = draw(st.sampled_from(CALLS))
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": json.loads(json.dumps(params))}
    if method.startswith("notifications/"):
        del message["id"]
    places: list[tuple[Any, Any]] = [(message, "id"), (message, "params"), (message, "jsonrpc"), (message, "result")]
    places += [(message["params"], key) for key in (*message["params"], "_meta", "extra")]
    for value in message["params"].values():
        places += [(value, key) for key in (*value, "extra")] if isinstance(value, dict) else []
    holder, key = draw(st.sampled_from(places))
    holder[key] = draw(JSON)
    return message


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is sent anything, and a session of the older era in it."""

    url: str
    http: httpx2.Client
    session: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("any")
    (directory / "skills" / "alpha").mkdir(parents=True)
    (directory / "skills" / "alpha" / "SKILL.md").write_text(
        "---\nname: alpha\ndescription: Does alpha.\n---\nThe body.\n", encoding="utf-8"
    )
    environment = {
        "HOME": str(directory),
        "SKILLS_DIR": str(directory / "skills"),
        "DB_PATH": str(directory / "db" / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
        "SKILLHUB_RATE_LIMIT": "0",
    }
    with listening(environment) as url, httpx2.Client(timeout=30) as http:
        session = http.post(url, json=INITIALIZE, headers=ACCEPT).headers["mcp-session-id"]
        yield Served(url, http, session)


@contextmanager
def no_error_logged() -> Iterator[None]:
    """Raise AssertionError for whatever is logged as an error meanwhile, as a traceback is."""
    errors: list[str] = []

    class Errors(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            errors.append(self.format(record))

    handler = Errors(logging.ERROR)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    assert errors == []


def send(served: Served, method: str, body: bytes, headers: dict[str, str]) -> None:
    """Send a request, and read its answer: of a stream, which may have no end, the first event."""
    with no_error_logged(), served.http.stream(method, served.url, content=body, headers=headers) as answer:
        said = next((chunk for chunk in answer.iter_bytes() if b"data: {" in chunk or chunk[:1] == b"{"), b"")
        event(f"{method} {answer.status_code} {'error' if b'error' in said else 'result' if b'result' in said else ''}")
        assert answer.status_code < 500
        assert b"-32603" not in said


ANY = settings(suppress_health_check=[HealthCheck.too_slow])


@ANY
@given(st.sampled_from(("POST", "DELETE", "PUT", "OPTIONS", "HEAD")), BODIES, HEADERS)
def test_any_request_at_all(served: Served, method: str, body: bytes, headers: dict[str, str]) -> None:
    send(served, method, body, headers)


@ANY
@given(messages(), MOSTLY_NONE, MOSTLY)
def test_any_message_of_the_older_era(
    served: Served, message: dict[str, Any], headers: dict[str, str], in_session: bool
) -> None:
    session = {"mcp-session-id": served.session} if in_session else {}
    given = {**ACCEPT, "content-type": "application/json", "mcp-protocol-version": OLDER, **headers, **session}
    send(served, "POST", json.dumps(message).encode(), given)


@ANY
@given(messages(), MOSTLY_NONE, MOSTLY)
def test_any_message_of_the_newer_era(
    served: Served, message: dict[str, Any], headers: dict[str, str], has_envelope: bool
) -> None:
    given = {**ACCEPT, "content-type": "application/json", "mcp-protocol-version": NEWER}
    given["mcp-method"] = message["method"]
    params = message["params"]
    if isinstance(params, dict):
        named = params.get("name", params.get("uri", ""))
        given |= {"mcp-name": named} if isinstance(named, str) and named.isascii() and named.isprintable() else {}
        message["params"] = {**params, **({"_meta": META} if has_envelope else {})}
    send(served, "POST", json.dumps(message).encode(), {**given, **headers})


def test_nothing_is_left_of_all_this(served: Served) -> None:
    served.http.close()
    gc.collect()
    # Not those of other tests, which have stopped and may be referred to all the same.
    running = (one for one in gc.get_objects() if isinstance(one, GracefulServer) and one.started)
    (server,) = (one for one in running if not one.should_exit)
    with httpx2.Client(timeout=30) as http:
        # Its own connection, and the request on it.
        while len(server.server_state.connections) > 1 or len(server.server_state.tasks) > 1:
            assert http.get(served.url.replace("/mcp", "/healthz")).status_code == 200
