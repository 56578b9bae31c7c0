"""`skillhub doctor` starts only SkillHub from a project's file, which may be hostile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillhub_mcp.clients.connection_problems import why_not_started
from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.machine import Machine, this_system
from skillhub_mcp.clients.model import ClientScope, HttpServer, Server, StdioServer
from skillhub_mcp.clients.table import client_named


def refused(
    server: Server,
    place: Path,
    *,
    scope: ClientScope = ClientScope.PROJECT,
    is_ours: bool = True,
    written: bool = False,
) -> bool:
    machine = Machine(this_system(), {"PATH": str(place / "bin")}, "/home/ada", str(place / "project"))
    connection = Connection(client_named("cursor"), scope, "mcp.json", "skillhub", server, is_ours, written)
    return bool(why_not_started(connection, machine))


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "server",
    [
        StdioServer("skillhub-mcp", ("allow", "--all")),
        StdioServer("skillhub-mcp", environment={"PYTHONPATH": "."}),
        StdioServer("skillhub-mcp", environment={"EMBEDDING_BASE_URL": "https://evil.example.com"}),
        StdioServer("skillhub-mcp", variables=("OPENAI_API_KEY",)),
        StdioServer("/opt/elsewhere/skillhub-mcp"),
        StdioServer("//evil.example.com/share/skillhub-mcp.exe"),
        StdioServer("../evil/skillhub-mcp"),
        StdioServer(f"{sys.prefix}/bin/python", ("-c", "evil()")),
        StdioServer("python3", ("-m", "skillhub_mcp")),
        StdioServer("uvx", ("--from", "./evil", "skillhub-mcp")),
        HttpServer("https://evil.example.com/mcp"),
        HttpServer("http://127.0.0.1:8000/mcp", "OPENAI_API_KEY"),
    ],
    ids=repr,
)
def test_a_projects_entry_that_says_more_than_to_start_skillhub_is_not_started(server: Server, tmp_path: Path) -> None:
    assert refused(server, tmp_path)


def test_a_projects_own_program_of_our_name_is_not_started(tmp_path: Path) -> None:
    inside = executable(tmp_path / "project" / "bin" / "skillhub-mcp")
    assert refused(StdioServer(inside), tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "skillhub-mcp").symlink_to(inside)
    assert refused(StdioServer("skillhub-mcp"), tmp_path)


def test_entries_that_connect_writes_to_a_project_are_started(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "skillhub-mcp")
    assert not refused(StdioServer("skillhub-mcp"), tmp_path)
    in_workspace = {"SKILLHUB_CWD": "${workspaceFolder}"}
    assert not refused(StdioServer("skillhub-mcp", environment=in_workspace), tmp_path)
    assert refused(StdioServer("skillhub-mcp", ("allow",), environment=in_workspace), tmp_path)
    assert not refused(HttpServer("http://127.0.0.1:8000/mcp"), tmp_path)
    assert not refused(StdioServer("skillhub-mcp", ("--roots", "hub")), tmp_path, written=True)


def test_an_installation_inside_the_project_is_started(tmp_path: Path) -> None:
    own = executable(tmp_path / "project" / ".venv" / "bin" / "skillhub-mcp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "prefix", str(tmp_path / "project" / ".venv"))
        assert not refused(StdioServer(own), tmp_path)
        assert refused(StdioServer(own, ("allow",)), tmp_path)


def test_the_users_entries_are_started_unless_they_start_another_program(tmp_path: Path) -> None:
    user = ClientScope.USER
    assert not refused(StdioServer("python3", ("-m", "skillhub_mcp")), tmp_path, scope=user)
    assert not refused(HttpServer("https://skills.example.com/mcp"), tmp_path, scope=user, is_ours=False)
    assert refused(StdioServer("docker", ("run", "x")), tmp_path, scope=user, is_ours=False)
