"""The body of a request: its size, its time, whose it is, and what comes of bodies that are too many together."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.authentication import UnauthenticatedUser
from starlette.types import Message, Receive, Scope, Send
from tests.server.bearers import ACCEPT, INITIALIZE
from tests.server.connections import listening

from skillhub_mcp.server.http.request_body import RequestBody

LARGE = 100_000


def part(content: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


class Answers:
    """An application that reads a body and keeps it, and the statuses that were sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.statuses: list[int] = []
        self.go_on = asyncio.Event()

    async def __call__(self, _: Scope, receive: Receive, __: Send) -> None:
        self.bodies.append((await receive())["body"])
        await self.go_on.wait()

    async def send(self, message: Message) -> None:
        self.statuses.extend([message["status"]] if "status" in message else [])


async def ask(body: RequestBody, answers: Answers, parts: Sequence[Message], **scope: Any) -> None:
    left = iter(parts)

    async def receive() -> Message:
        for message in left:
            return message
        return await asyncio.Future()

    given = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], **scope}
    await body(given, receive, answers.send)


def test_bodies_that_are_large_together_are_refused_and_small_ones_are_not() -> None:
    async def go() -> Answers:
        answers = Answers()
        body = RequestBody(answers, max_bytes=LARGE, seconds=30, needs_token=False)
        large = [part(b"x" * LARGE, more=False)]
        held = [asyncio.create_task(ask(body, answers, large)) for _ in range(64)]
        await asyncio.sleep(0)
        await ask(body, answers, large)
        held.append(asyncio.create_task(ask(body, answers, [part(b"small", more=False)])))
        await asyncio.sleep(0)
        answers.go_on.set()
        await asyncio.gather(*held)
        # What was answered is held no longer.
        await ask(body, answers, large)
        return answers

    answers = asyncio.run(go())
    assert answers.statuses == [503]
    assert [len(body) for body in answers.bodies] == [*[LARGE] * 64, 5, LARGE]


def test_a_client_that_leaves_amid_its_body_is_none_of_the_applications_business() -> None:
    async def go() -> Answers:
        answers = Answers()
        body = RequestBody(answers, max_bytes=LARGE, seconds=30, needs_token=False)
        await ask(body, answers, [part(b"{"), {"type": "http.disconnect"}])
        return answers

    answers = asyncio.run(go())
    assert (answers.bodies, answers.statuses) == ([], [])


def test_a_strangers_body_is_left_to_the_application_that_refuses_it() -> None:
    async def go() -> Answers:
        answers = Answers()
        answers.go_on.set()
        body = RequestBody(answers, max_bytes=LARGE, seconds=30, needs_token=True)
        await ask(body, answers, [part(b"{")], user=UnauthenticatedUser())
        return answers

    assert asyncio.run(go()).bodies == [b"{"]


@pytest.mark.parametrize("announced", [True, False])
def test_a_request_that_is_too_large_is_refused_before_anything_looks_into_it(
    hub_environment: dict[str, str], announced: bool
) -> None:
    with listening({**hub_environment, "SKILLHUB_MAX_REQUEST_BYTES": "2048"}) as url:

        def status(size: int) -> tuple[int, dict[str, object]]:
            body = b"{" + b" " * (size - 1)
            parts = [body[at : at + 100] for at in range(0, size, 100)]
            given = body if announced else iter(parts)
            answer = httpx2.post(url, content=given, headers={**ACCEPT, "content-type": "application/json"})
            assert ("content-length" in answer.request.headers) is announced
            return answer.status_code, answer.json()["error"]

        # What is not too large is found not to be JSON.
        assert status(2_048)[0] == 400
        code, error = status(2_049)
        assert code == 413
        assert error["message"] == (
            "REQUEST_TOO_LARGE: The request has more than 2,048 bytes. Send a smaller request; the server's operator "
            "can raise SKILLHUB_MAX_REQUEST_BYTES."
        )
        assert error["data"] == {
            "code": "REQUEST_TOO_LARGE",
            "max_bytes": 2_048,
            "hint": "send a smaller request; the server's operator can raise SKILLHUB_MAX_REQUEST_BYTES",
        }


def test_a_body_without_an_end_is_not_read_to_it(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_MAX_REQUEST_BYTES": "1024"}) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.putrequest("POST", "/mcp")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.putheader("Content-Type", "application/json")
        connection.endheaders()
        connection.send(b"800\r\n" + b" " * 0x800 + b"\r\n")
        # The last chunk never comes.
        answer = connection.getresponse()
        assert answer.status == 413
        connection.close()


def test_a_chunked_request_of_the_right_size_is_answered(hub_environment: dict[str, str]) -> None:
    with listening(hub_environment) as url:
        body = json.dumps(INITIALIZE).encode()
        headers = {**ACCEPT, "content-type": "application/json"}
        answer = httpx2.post(url, content=iter([body[:10], body[10:]]), headers=headers)
        assert answer.status_code == 200
        assert "serverInfo" in answer.text
