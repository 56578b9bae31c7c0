"""Sessions of the 2025-11-25 protocol are bounded: the least recently used one goes, and its client is told."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.server.streamable_http import StreamableHTTPServerTransport
from tests.server.bearers import add_token, bearing, knock
from tests.server.connections import listening

pytestmark = pytest.mark.slow


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


@pytest.fixture
def environment(hub_environment: dict[str, str], file: Path) -> dict[str, str]:
    return {
        **hub_environment,
        "SKILLHUB_TOKENS_FILE": str(file),
        "SKILLHUB_MAX_SESSIONS": "4",
        "SKILLHUB_MAX_SESSIONS_PER_CALLER": "3",
    }


def begin(url: str, token: str) -> str:
    """Begin a session, and return its name."""
    return str(knock(url, token).headers["mcp-session-id"])


def use(url: str, token: str, session: str) -> int:
    """Make a request in a session, and return its answer's status."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {**bearing(token), "mcp-session-id": session}
    return httpx2.post(url, json=ping, headers=headers, timeout=30).status_code


def end(url: str, token: str, session: str) -> int:
    headers = {**bearing(token), "mcp-session-id": session}
    return httpx2.delete(url, headers=headers).status_code


@contextmanager
def stream(url: str, token: str, session: str) -> Iterator[None]:
    """A stream that waits for events of a session."""
    headers = {**bearing(token), "mcp-session-id": session}
    with httpx2.Client(timeout=30) as client, client.stream("GET", url, headers=headers):
        yield


def test_the_callers_least_recently_used_session_ends_for_a_new_one(environment: dict[str, str], file: Path) -> None:
    ann, bob = add_token(file, "ann"), add_token(file, "bob")
    with listening(environment) as url:
        other = begin(url, bob)
        first, second, third = (begin(url, ann) for _ in range(3))
        assert use(url, ann, first) == 200
        fourth = begin(url, ann)
        # It is the specification's answer, upon which a client begins anew.
        assert use(url, ann, second) == 404
        assert [use(url, ann, name) for name in (first, third, fourth)] == [200] * 3
        assert use(url, bob, other) == 200


def test_with_all_sessions_in_use_the_least_recently_used_one_of_anybody_ends(
    environment: dict[str, str], file: Path
) -> None:
    ann, bob = add_token(file, "ann"), add_token(file, "bob")
    with listening(environment) as url:
        others = [begin(url, bob) for _ in range(2)]
        mine = [begin(url, ann) for _ in range(3)]
        assert [use(url, bob, name) for name in others] == [404, 200]
        assert [use(url, ann, name) for name in mine] == [200] * 3


def test_a_session_with_an_open_stream_outlives_those_at_rest(environment: dict[str, str], file: Path) -> None:
    ann = add_token(file, "ann")
    with listening(environment) as url:
        watching = begin(url, ann)
        with stream(url, ann, watching):
            at_rest = [begin(url, ann) for _ in range(3)]
            assert [use(url, ann, name) for name in (watching, *at_rest)] == [200, 404, 200, 200]


def test_a_session_that_was_ended_takes_no_place_and_nobody_elses_request_is_a_use(
    environment: dict[str, str], file: Path
) -> None:
    ann, bob = add_token(file, "ann"), add_token(file, "bob")
    with listening(environment) as url:
        first, second, third = (begin(url, ann) for _ in range(3))
        assert end(url, bob, second) == 404
        assert end(url, ann, second) == 200
        fourth = begin(url, ann)
        assert [use(url, ann, name) for name in (first, third)] == [200, 200]
        assert use(url, bob, fourth) == 404
        begin(url, ann)
        assert [use(url, ann, name) for name in (first, third, fourth)] == [200, 200, 404]


def test_sessions_without_an_end_leave_nothing_behind(environment: dict[str, str], file: Path) -> None:
    ann = add_token(file, "ann")
    with listening(environment) as url:
        for _ in range(20):
            begin(url, ann)
        kept = [one for one in gc.get_objects() if isinstance(one, StreamableHTTPServerTransport)]
        assert len([one for one in kept if not one.is_terminated]) == 3
