"""The entries for SkillHub in the files of clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import ClientScope
from skillhub_mcp.clients.registered import RegisteredFile, registered_files

ENTRY: dict[str, Any] = {"command": "/opt/skillhub-mcp", "args": []}


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def found(tmp_path: Path) -> dict[tuple[str, ClientScope], RegisteredFile]:
    machine = Machine(System.LINUX, {}, str(tmp_path / "home"), str(tmp_path / "project"))
    return {(one.client.name, one.scope): one for one in registered_files(machine)}


def test_entries_of_the_user_and_the_project_are_found_under_any_name(tmp_path: Path) -> None:
    other = {"command": "npx", "args": ["other"]}
    put(tmp_path / "home/.cursor/mcp.json", {"mcpServers": {"hub": ENTRY, "other": other, "skillhub": ENTRY}})
    put(tmp_path / "project/.vscode/mcp.json", {"servers": {"skillhub": ENTRY}})
    put(tmp_path / "home/.lmstudio/mcp.json", {"mcpServers": {"other": other}})
    files = found(tmp_path)
    # Both editions of VS Code read that file of the project.
    assert set(files) == {("cursor", ClientScope.USER), ("vscode", ClientScope.PROJECT)}
    assert [one.name for one in files["cursor", ClientScope.USER].connections] == ["hub", "skillhub"]


def test_entries_under_the_key_of_another_client_are_found(tmp_path: Path) -> None:
    put(tmp_path / "home/.config/Code/User/mcp.json", {"mcpServers": {"skillhub": ENTRY}, "servers": {}})
    put(tmp_path / "home/.cursor/mcp.json", {"servers": {"x": ENTRY}, "mcpServers": {"hub": ENTRY}})
    put(tmp_path / "home/.codex/config.toml", "[mcpServers.skillhub]\ncommand = '/opt/skillhub-mcp'\n")
    # Settings with the name of an entry.
    put(tmp_path / "home/.config/zed/settings.json", {"mcp": {"skillhub": True}, "servers": {"skillhub": {"color": 1}}})
    misplaced = {client: file.misplaced for (client, _), file in found(tmp_path).items()}
    assert misplaced == {"vscode": ("mcpServers",), "cursor": ("servers",), "codex": ("mcpServers",)}


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    put(tmp_path / "home/.cursor/mcp.json", '{"mcpServers": {"skillhub": ')
    put(tmp_path / "home/.kiro/settings/mcp.json", {"mcpServers": []})
    files = {client: file.refusal for (client, _), file in found(tmp_path).items()}
    assert files.keys() == {"cursor", "kiro"}
    assert all(files.values())


def test_entries_of_claude_code_for_this_project_are_found(tmp_path: Path) -> None:
    state = {
        "mcpServers": {"skillhub": ENTRY},
        "projects": {str(tmp_path / "project"): {"mcpServers": {"hub": ENTRY}}, "/other": {"mcpServers": {"x": ENTRY}}},
    }
    put(tmp_path / "home/.claude.json", state)
    file = found(tmp_path)["claude-code", ClientScope.USER]
    assert [one.name for one in file.connections] == ["skillhub", "hub"]


def test_a_file_of_both_scopes_is_reported_once(tmp_path: Path) -> None:
    put(tmp_path / "home/.cursor/mcp.json", {"mcpServers": {"skillhub": ENTRY}})
    home = str(tmp_path / "home")
    (file,) = registered_files(Machine(System.LINUX, {}, home, home))
    assert (file.scope, len(file.connections)) == (ClientScope.USER, 1)
