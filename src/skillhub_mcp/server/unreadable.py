r"""Answers over stdio to messages that are no JSON-RPC, which the MCP SDK drops: who asked would wait for ever.

One such is text with half of a surrogate pair (`"\ud800"`), which many languages write as JSON without a complaint.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from fastmcp import FastMCP
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

log = logging.getLogger(__name__)


def answer_unreadable_messages(server: FastMCP) -> None:
    """Let `server` answer what it cannot read with a JSON-RPC error, wherever it reads messages from a stream."""
    low_level = server._mcp_server  # noqa: SLF001 - the SDK drops such messages before anything public sees them
    run = low_level.run

    async def run_and_answer(read: Any, write: Any, *args: Any, **options: Any) -> None:
        answered: Any = _Answered(read, write)
        await run(answered, write, *args, **options)

    low_level.run = run_and_answer  # type: ignore[method-assign, assignment]


def error_for(problem: Exception) -> JSONRPCError | None:
    """Return the answer to a message that could not be read; None where JSON-RPC wants none.

    It has the message's id where one can be found. Notifications, responses and empty lines are not answered.
    """
    message, code, text = _message_of(problem)
    if isinstance(message, str):
        return None if not message.strip() else _error(None, code, text)
    if isinstance(message, dict) and ("result" in message or "error" in message or "id" not in message):
        return None
    return _error(message.get("id") if isinstance(message, dict) else None, code, text)


class _Answered:
    """A stream of the SDK from which problems are taken out and answered."""

    def __init__(self, read: Any, write: Any) -> None:
        self._read = read
        self._write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def __aenter__(self) -> Any:
        await self._read.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._read.__aexit__(kind, error, traceback)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for item in self._read:
            answer = error_for(item) if isinstance(item, Exception) else None
            if answer is not None:
                await self._write.send(SessionMessage(answer))
            elif isinstance(item, Exception):
                log.debug("A message that cannot be read needs no answer: %s", type(item).__name__)
            else:
                yield item


def _message_of(problem: Exception) -> tuple[object, int, str]:
    """Return the message as far as it can be read (the text where it is no JSON), an error's code, and its text."""
    if not isinstance(problem, ValidationError):
        return "?", PARSE_ERROR, "Parse error: this line could not be read"
    problems = problem.errors(include_url=False, include_context=False)
    first = problems[0]
    if first["type"] != "json_invalid":
        # What is missing is missing from the whole message.
        whole = next((found["input"] for found in problems if found["type"] in ("missing", "model_type")), None)
        return whole, INVALID_REQUEST, "Invalid Request: this is no JSON-RPC message of MCP"
    message: object = str(first["input"])
    # Python reads half of a surrogate pair, and so finds out who asked.
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(str(first["input"]))
    return message, PARSE_ERROR, f"Parse error: {first['msg']}"


def _error(asked: object, code: int, text: str) -> JSONRPCError:
    number = asked if isinstance(asked, str | int) and not isinstance(asked, bool) else None
    if isinstance(number, str):
        number = number.encode("utf-8", "replace").decode()
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=text))
