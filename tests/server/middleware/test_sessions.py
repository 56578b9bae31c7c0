"""Sessions: their number is bounded, and a server whose rules cannot be read reports why."""

from __future__ import annotations

import asyncio
import json
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
from starlette.testclient import TestClient
from tests.conftest import SkillWriter, own_rules
from tests.hubs import hub_of
from tests.server.bearers import ACCEPT
from tests.server.connections import listening, reached
from tests.server.sessions import in_process

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.server import server_options
from skillhub_mcp.mcp_tools import TOOL_ACTIONS
from skillhub_mcp.policy.access import Grant
from skillhub_mcp.policy.tool_actions import Action
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.callers import Caller, CallerToken
from skillhub_mcp.server.http.app import HttpOptions, make_http_app
from skillhub_mcp.server.http.pages import readiness
from skillhub_mcp.server.middleware.sessions import _CURRENT, Session, Sessions
from skillhub_mcp.settings import read_settings


def test_of_many_sessions_the_one_used_longest_ago_is_forgotten() -> None:
    sessions = Sessions("http", tools=())
    stored = [Session(str(number)) for number in range(1_001)]
    for session in stored:
        sessions._sessions.put(("handle", str(session.handle)), session)
    assert sessions._find(None, "0") is not stored[0]
    assert sessions._find(None, "1") is stored[1]
    sessions._sessions.put(("handle", "new"), Session("new"))
    # The last look-up made it the one used last.
    assert sessions._find(None, "1") is stored[1]
    assert sessions._find(None, "2") is not stored[2]


@contextmanager
def called_by(client_id: str | None, name: str) -> Iterator[None]:
    """Let a request's token be that of a caller; None is a request without a token."""
    user = None
    if client_id is not None:
        user = AuthenticatedUser(CallerToken(token="", client_id=client_id, scopes=[], caller=Caller(name)))
    token = auth_context_var.set(user)
    try:
        yield
    finally:
        auth_context_var.reset(token)


def test_a_handle_in_another_callers_hands_leads_to_a_session_of_its_own() -> None:
    sessions = Sessions("http", tools=())
    session = Session(granted=frozenset({Grant(Action.LOAD, "/a")}))
    running = _CURRENT.set(session)
    try:
        with called_by("named ci", "ci"):
            sessions.with_handle(ToolResult(content="x"))
            assert sessions._find(None, session.handle) is session
            assert sessions._find(None, f"{session.handle}x") is not session
    finally:
        _CURRENT.reset(running)
    # Neither another name, nor the same name of another kind of token, nor nobody.
    for client_id, name in (("named other", "other"), ("signed ci", "ci"), ("token", "ci"), (None, "")):
        with called_by(client_id, name):
            found = sessions._find(None, session.handle)
            assert found is not session
            assert not found.granted
    with called_by("named ci", "ci"):
        assert sessions._find(None, session.handle) is session


def test_a_session_keeps_what_was_agreed_to_and_one_handle(tmp_path: Path) -> None:
    session = Session()
    session.grant(Grant(Action.LOAD, "/a"))
    session.grant(Grant(Action.READ, "/a"))
    assert session.granted == {Grant(Action.LOAD, "/a"), Grant(Action.READ, "/a")}
    assert not session.is_named
    assert session.resume_handle == session.resume_handle != Session().resume_handle
    assert session.is_named
    # A client that has a handle is told no second one.
    assert Session("own").resume_handle == "own"


def test_a_server_whose_rules_cannot_be_understood_is_not_ready_and_says_why(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("one")
    (tmp_path / "rules.json").write_text("{", encoding="utf-8")
    with hub_of({**hub_environment, **own_rules(tmp_path / "rules.json")}) as hub:
        hub.refresh()
        answer = readiness(hub)
    assert answer.status_code == 503
    told = json.loads(bytes(answer.body))
    assert told["index"] == "refused"
    assert "line 1 is not JSON" in told["problem"]
    assert str(tmp_path) not in told["problem"]


def test_a_rule_may_be_about_every_tool_and_about_nothing_else(hub_environment: dict[str, str]) -> None:
    async def go(expose_paths: bool) -> set[str]:
        environment = {**hub_environment, "SKILLHUB_TOOLS": "all", "SKILLHUB_ENABLE_RUN": "1"}
        async with in_process(environment, expose_paths=expose_paths) as client:
            return {tool.name for tool in await client.list_tools()}

    everywhere, without_the_disk = asyncio.run(go(True)), asyncio.run(go(False))
    assert without_the_disk == set(TOOL_ACTIONS.by_tool)
    # Who has the disk reads AGENTS.md without a tool.
    assert without_the_disk - everywhere == {"agents_read"}


def test_prompts_of_names_that_come_to_one_are_one_and_the_exact_name_has_it(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("PDF Tools", "The wild one.", directory="wild")
    write_skill("pdf-tools", "The exact one.")
    write_skill("Chat with PDF", "Another wild one.", directory="chat")

    async def go() -> dict[str, str | None]:
        async with in_process({**hub_environment, "SKILLHUB_TOOLS": "skill"}) as client:
            return {prompt.name: prompt.description for prompt in await client.list_prompts()}

    assert asyncio.run(go()) == {
        "skill": "Use a skill by its name",
        "chat-with-pdf": "Another wild one.",
        "pdf-tools": "The exact one.",
    }


@pytest.mark.slow
def test_a_session_argument_that_is_no_handle_is_refused(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")

    async def go() -> list[str | None]:
        environment = {**hub_environment, "SKILLHUB_TOOLS": "context"}
        said = []
        for way in (("http", "legacy"), ("http", "auto"), ("stdio", "auto")):
            handles: tuple[Any, ...] = (["x"], 3) if way == ("http", "auto") else ("x",)
            async with reached(way, environment) as hub:
                said += [await hub.call("context_inspect", session=handle) for handle in handles]
        return [one.code for one in said]

    assert set(asyncio.run(go())) == {"INVALID_ARGUMENT"}


def told(answer: httpx2.Response) -> str:
    """The result of a raw call, as text of the stream's event or of the body."""
    assert answer.status_code == 200, answer.text
    return next(line for line in answer.text.splitlines() if '"result"' in line)


@pytest.mark.slow
def test_on_a_stateless_server_no_client_joins_a_session_by_choosing_its_id(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    project = tmp_path / "repo"
    (project / ".git").mkdir(parents=True)
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
        return told(httpx2.post(url, json=call, headers=headers, timeout=30))

    with listening(environment) as url:
        first, other = load(url), load(url)
        assert "The body of alpha." in first
        # Another client with the same id has not been shown the body.
        assert "The body of alpha." in other
        handles = [re.findall(r"session: (\S+) ", one) for one in (first, other)]
        assert [len(found) for found in handles] == [1, 1]
        assert handles[0] != handles[1]
        # What goes on in a session of such a server is the handle, as for clients of the newer protocol.
        assert "The body of alpha." not in load(url, session=handles[0][0])


def test_probes_are_answered_while_nothing_was_asked_yet(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("one")
    settings, _ = read_settings(hub_environment)
    hub = make_hub(settings, background=False)
    server = make_server(hub, server_options(settings, hub, over_http=True))
    # No lifespan: nothing has started yet.
    client = TestClient(make_http_app(server, hub, HttpOptions("127.0.0.1", 0, (), ())))
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"index": "starting"}
    hub.close()
