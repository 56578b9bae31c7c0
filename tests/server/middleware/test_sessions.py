"""Sessions: handles, limits, and stateless servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp.tools.base import ToolResult
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT
from tests.server.connections import listening, reached

from skillhub_mcp.policy.access import Grant
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.server.callers import CallerToken
from skillhub_mcp.server.middleware.sessions import _CURRENT, Session, Sessions

pytestmark = pytest.mark.anyio


@contextmanager
def called_by(client_id: str | None, name: str) -> Iterator[None]:
    """Act as the caller of a token; None is a request without a token."""
    user = None
    if client_id is not None:
        user = AuthenticatedUser(CallerToken(client_id=client_id, name=name))
    token = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(token)


def test_another_callers_handle_starts_a_new_session() -> None:
    sessions = Sessions("http")
    session = Session(granted=frozenset({Grant(Action.LOAD, "/a")}))
    running = _CURRENT.set(session)
    try:
        with called_by("named ci", "ci"):
            sessions.with_handle(ToolResult(content="x"))
            assert sessions._find(None, session.handle) is session
            assert sessions._find(None, f"{session.handle}x") is not session
    finally:
        _CURRENT.reset(running)
    # Not for another name, another kind of token, or an anonymous caller.
    for client_id, name in (("named other", "other"), ("signed ci", "ci"), ("token", "ci"), (None, "")):
        with called_by(client_id, name):
            found = sessions._find(None, session.handle)
            assert found is not session
            assert not found.granted
    with called_by("named ci", "ci"):
        assert sessions._find(None, session.handle) is session


@pytest.mark.slow
async def test_an_invalid_handle_is_refused_and_null_counts_as_missing(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")

    environment = {**hub_environment, "SKILLHUB_TOOLS": "context"}
    said = []
    for way in (("http", "legacy"), ("http", "auto"), ("stdio", "auto")):
        handles: tuple[Any, ...] = (["x"], 3) if way == ("http", "auto") else ("x",)
        async with reached(way, environment) as hub:
            said += [await hub.call("context_inspect", session=handle) for handle in handles]
            if way == ("http", "auto"):
                assert (await hub.call("context_inspect", session=None)).code is None
    assert {one.code for one in said} == {"INVALID_ARGUMENT"}


def result_line(answer: httpx2.Response) -> str:
    """The result of a raw call, from the stream's event or the body."""
    assert answer.status_code == 200, answer.text
    return next(line for line in answer.text.splitlines() if '"result"' in line)


@pytest.mark.slow
def test_on_a_stateless_server_session_ids_cannot_be_guessed(
    hub_environment: dict[str, str], write_skill: SkillWriter, project: Path
) -> None:
    write_skill("alpha", body="The body of alpha.\n", root=project / ".agents" / "skills")
    environment = {
        **hub_environment,
        "SKILLHUB_TOOLS": "context",
        "SKILLHUB_CWD": str(project),
        "--workers": "2",
    }
    headers = {**ACCEPT, "mcp-protocol-version": "2025-11-25", "mcp-session-id": "chosen-by-the-client"}

    def load(url: str, **arguments: str) -> str:
        params = {"name": "skill_load", "arguments": {"name": "alpha", **arguments}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return result_line(httpx2.post(url, json=call, headers=headers, timeout=30))

    with listening(environment) as url:
        first, other = load(url), load(url)
        assert "The body of alpha." in first
        # Another client with the same id has not seen the body.
        assert "The body of alpha." in other
        handles = [re.findall(r"session: (\S+) ", one) for one in (first, other)]
        assert [len(found) for found in handles] == [1, 1]
        assert handles[0] != handles[1]
        # Such a server continues sessions by handle, as for clients of the newer protocol.
        assert "The body of alpha." not in load(url, session=handles[0][0])
