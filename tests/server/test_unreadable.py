"""A message over stdio that is no JSON-RPC gets an answer, with its id where that can be read."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from typing import Any

import mcp_types
import pytest
from tests.server.connections import _serve_pipes

from skillhub_mcp.server.unreadable import error_for

HALF = '"\\ud800"'


def answered(line: str) -> dict[str, Any] | None:
    try:
        mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as problem:
        error = error_for(problem)
        return None if error is None else error.model_dump(by_alias=True)
    raise AssertionError(line)


@pytest.mark.parametrize(
    ("line", "asked", "code"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + HALF + "}}", 7, -32700),
        ('{"jsonrpc":"2.0","id":"a","method":' + HALF + "}", "a", -32700),
        ('{"jsonrpc":"2.0","id":' + HALF + ',"method":"ping"}', "?", -32700),
        ('{"jsonrpc":"2.0","id":7', None, -32700),
        ("[" * 5_000, None, -32700),
        ('{"jsonrpc":"2.0","id":' + "9" * 5_000 + ',"method":' + HALF + "}", None, -32700),
        ('{"jsonrpc":"2.0","id":7,"method":7}', 7, -32600),
        ('{"id":7,"method":"ping"}', 7, -32600),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, -32600),
        ("3", None, -32600),
    ],
)
def test_what_cannot_be_read_is_answered_with_its_id_where_it_has_one(line: str, asked: object, code: int) -> None:
    answer = answered(line)
    assert answer is not None
    assert (answer["id"], answer["error"]["code"]) == (asked, code)
    json.dumps(answer).encode()


@pytest.mark.parametrize(
    "line",
    [
        "\n",
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":' + HALF + "}}",
        '{"jsonrpc":"2.0","method":7}',
        '{"jsonrpc":"2.0","id":7,"result":3}',
        '{"jsonrpc":"2.0","id":7,"error":{"message":' + HALF + "}}",
    ],
)
def test_an_empty_line_a_notification_and_a_response_are_not_answered(line: str) -> None:
    assert answered(line) is None


def test_half_a_surrogate_pair_over_stdio_gets_an_error_and_the_next_request_its_answer(
    hub_environment: dict[str, str],
) -> None:
    from_client, to_server = os.pipe()
    from_server, to_client = os.pipe()
    serving = threading.Thread(target=lambda: asyncio.run(_serve_pipes(hub_environment, from_client, to_client)))
    serving.start()
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_skills","arguments":{"query":%s}}}'
    with os.fdopen(from_server, encoding="utf-8") as said, os.fdopen(to_server, "w", encoding="utf-8") as say:
        say.write(f'{asked % HALF}\n{{"jsonrpc":"2.0","id":2,"method":"ping"}}\n')
        say.flush()
        answers = [json.loads(said.readline()) for _ in range(2)]
        say.close()
        serving.join()
    assert [(answer["id"], answer.get("error", {}).get("code")) for answer in answers] == [(1, -32700), (2, None)]
