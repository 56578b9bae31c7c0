"""The project of a client that starts its server elsewhere: roots, a directory in `_meta`, or a variable."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from tests.conftest import SkillWriter
from tests.server.connections import Caller, reached, ways

pytestmark = pytest.mark.anyio

STDIO, STDIO_MODERN = ("stdio", "legacy"), ("stdio", "auto")
# Each environment without SKILLS_DIR, so that projects are searched.
Environment = dict[str, str]


@pytest.fixture
def environment(hub_environment: Environment, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A server in the home directory."""
    monkeypatch.chdir(os.environ["HOME"])
    return {name: value for name, value in hub_environment.items() if name != "SKILLS_DIR"}


@pytest.fixture
def projects(tmp_path: Path, write_skill: SkillWriter) -> tuple[Path, Path]:
    """Two projects, each with `deploy` and one unique skill: `alpha` and `beta`."""
    found = []
    for name in ("alpha", "beta"):
        project = tmp_path.resolve() / f"project {name}"
        skills = project / ".agents" / "skills"
        write_skill(name, f"About {name}.", root=skills)
        write_skill("deploy", "About deploying.", body=f"Deploy {name}.\n", root=skills)
        (project / ".git").mkdir()
        found.append(project)
    return found[0], found[1]


class AnyRoot(mcp_types.Root):
    """A root that need not be the URI of a file."""

    uri: str  # type: ignore[assignment]  # some clients send others


class AnyRoots(mcp_types.ListRootsResult):
    roots: list[AnyRoot]  # type: ignore[assignment]  # as above


class Roots:
    """A client's roots, which a test may change."""

    def __init__(self, *roots: Path | str) -> None:
        self.roots = roots

    async def __call__(self, _: Any) -> mcp_types.ListRootsResult:
        return AnyRoots(roots=[AnyRoot(uri=one.as_uri() if isinstance(one, Path) else one) for one in self.roots])


async def refuse(_: Any) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.METHOD_NOT_FOUND, message="Method not found")


async def never_answer(_: Any) -> mcp_types.ListRootsResult:
    await anyio.sleep_forever()
    raise AssertionError


async def loads(client: Caller, name: str, **meta: Any) -> bool:
    sent: Any = meta or None
    result = await client.client.call_tool("load_skill", {"skill_name": name}, meta=sent)
    return not getattr(result, "is_error", True)


@ways
async def test_the_skills_of_each_root_are_served_over_stdio(
    way: tuple[str, str], environment: Environment, projects: tuple[Path, Path]
) -> None:
    async with reached(way, environment, list_roots_callback=Roots(projects[1], projects[0])) as client:
        found = [await loads(client, name) for name in ("alpha", "beta", "deploy")]
        assert found == [way == STDIO] * 3
        hits = (await client.call("search_skills", query="about deploying")).json["skills"]
        assert [hit["name"] for hit in hits][:1] == (["deploy"] if way == STDIO else [])
        if way == STDIO:
            # The first root wins a shared name.
            assert "Deploy beta." in (await client.call("load_skill", skill_name="deploy")).text


async def test_each_untrusted_project_is_asked_about_once(
    environment: Environment, projects: tuple[Path, Path]
) -> None:
    asked: list[str] = []

    async def answer_later(_: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        asked.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"answer": "not now"})

    roots = Roots(*projects)
    async with reached(STDIO, environment, list_roots_callback=roots, elicitation_callback=answer_later) as client:
        assert [await loads(client, name) for name in ("alpha", "beta", "alpha", "beta")] == [True] * 4
    assert [message.split("'")[1] for message in asked] == list(map(str, projects))
    assert ["'beta'" in message for message in asked] == [False, True]


async def test_bare_paths_are_roots_and_invalid_ones_are_skipped(
    environment: Environment, projects: tuple[Path, Path], tmp_path: Path
) -> None:
    roots = Roots(
        "vscode-remote://wsl/x",
        "file://elsewhere/x",
        "file://[x",
        "file:///a%00b",
        tmp_path / "gone",
        "${workspaceFolder}",
        str(projects[0]),
    )

    async with reached(STDIO, environment, list_roots_callback=roots) as client:
        assert await loads(client, "alpha")


async def test_a_client_can_change_its_roots(environment: Environment, projects: tuple[Path, Path]) -> None:
    roots = Roots(projects[0])

    async with reached(STDIO, environment, list_roots_callback=roots) as client:
        assert [await loads(client, name) for name in ("alpha", "beta")] == [True, False]
        roots.roots = (projects[1],)
        await client.client.session.send_notification(mcp_types.RootsListChangedNotification())
        assert [await loads(client, name) for name in ("alpha", "beta")] == [False, True]
        roots.roots = ()
        await client.client.session.send_notification(mcp_types.RootsListChangedNotification())
        assert not await loads(client, "beta")


@pytest.mark.parametrize("answer", [refuse, pytest.param(never_answer, marks=pytest.mark.slow)])
async def test_a_client_that_offers_roots_but_does_not_list_them_is_served(
    environment: Environment, projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.chdir(projects[0])

    async with reached(STDIO, environment, list_roots_callback=answer) as client:
        assert await loads(client, "alpha")


@pytest.mark.parametrize("client_name", ["Codex", "Goose"])
@ways
async def test_the_directory_in_meta_names_the_project_over_stdio(
    way: tuple[str, str], client_name: str, environment: Environment, projects: tuple[Path, Path]
) -> None:
    def meta(project: Path) -> dict[str, Any]:
        codex = {"codex/sandbox-state-meta": {"sandboxCwd": project.as_uri()}}
        return codex if client_name == "Codex" else {"agent-working-dir": str(project)}

    async with reached(way, environment) as client:
        over_stdio = way[0] == "stdio"
        declared = client.client.server_capabilities.experimental or {}
        assert ("codex/sandbox-state-meta" in declared) == over_stdio
        assert not await loads(client, "alpha")
        assert await loads(client, "alpha", **meta(projects[0])) == over_stdio
        assert await loads(client, "beta", **meta(projects[1])) == over_stdio


def test_settings_win_over_roots_and_roots_over_meta(environment: Environment, projects: tuple[Path, Path]) -> None:
    async def served(environment: Environment) -> list[bool]:
        async with reached(STDIO, environment, list_roots_callback=Roots(projects[0])) as client:
            meta = {"agent-working-dir": str(projects[1])}
            return [await loads(client, name, **meta) for name in ("alpha", "beta")]

    assert asyncio.run(served(environment)) == [True, False]
    assert asyncio.run(served({**environment, "SKILLHUB_CWD": str(projects[1])})) == [False, True]


async def test_the_rules_of_the_clients_project_apply(environment: Environment, projects: tuple[Path, Path]) -> None:
    rules = projects[0] / ".skillhub" / "permissions.json"
    rules.parent.mkdir()
    rules.write_text('{"permissions": {"deny": [{"tool": "load_skill", "skill_name": "deploy"}]}}', encoding="utf-8")

    async with reached(STDIO, environment, list_roots_callback=Roots(projects[0])) as client:
        assert (await client.call("load_skill", skill_name="deploy")).code == "PERMISSION_DENIED"


def test_instructions_and_empty_answers_name_the_project_or_its_absence(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path.resolve() / "empty"
    (empty / ".git").mkdir(parents=True)

    async def said(way: tuple[str, str], **options: Any) -> tuple[list[str], str]:
        async with reached(way, environment, **options) as client:
            lines = [line for line in (client.client.instructions or "").splitlines() if line.startswith("Project:")]
            return lines, str((await client.call("search_skills", query="deploy")).json["note"])

    for way in (STDIO, STDIO_MODERN):
        lines, note = asyncio.run(said(way))
        assert lines == ["Project: none; SKILLHUB_CWD names one"]
        assert "the project is unknown here; start in it, or set SKILLHUB_CWD to its directory" in note
    # The client names its project after reading the instructions.
    lines, note = asyncio.run(said(STDIO, list_roots_callback=Roots(empty)))
    assert lines == []
    assert f"{empty} is the project, and has no skill" in note
    # A server over HTTP does not serve directories that its clients name.
    lines, note = asyncio.run(said(("http", "legacy")))
    assert (lines, "project" in note) == ([], False)
    monkeypatch.chdir(empty)
    lines, note = asyncio.run(said(STDIO))
    assert lines == [f"Project: {empty}"]
    assert f"{empty} is the project, and has no skill" in note


@pytest.mark.slow
async def test_a_client_variable_wins_over_its_roots(environment: Environment, projects: tuple[Path, Path]) -> None:
    named = {**environment, "CURSOR_PROJECT_DIR": str(projects[0])}
    async with reached(STDIO, named, process=True, list_roots_callback=Roots(projects[1])) as client:
        assert [await loads(client, name) for name in ("alpha", "beta")] == [True, False]
