"""What is found in the files of clients."""

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


def test_entries_of_the_user_and_of_the_project_are_found_under_whatever_name_they_have(tmp_path: Path) -> None:
    other = {"command": "npx", "args": ["other"]}
    put(tmp_path / "home/.cursor/mcp.json", {"mcpServers": {"hub": ENTRY, "other": other, "skillhub": ENTRY}})
    put(tmp_path / "project/.vscode/mcp.json", {"servers": {"skillhub": ENTRY}})
    put(tmp_path / "home/.lmstudio/mcp.json", {"mcpServers": {"other": other}})
    files = found(tmp_path)
    # Both editions of VS Code read that file of the project.
    assert set(files) == {("cursor", ClientScope.USER), ("vscode", ClientScope.PROJECT)}
    assert [one.name for one in files["cursor", ClientScope.USER].connections] == ["hub", "skillhub"]


def test_an_entry_under_the_key_of_another_client_is_found(tmp_path: Path) -> None:
    put(tmp_path / "home/.config/Code/User/mcp.json", {"mcpServers": {"skillhub": ENTRY}, "servers": {}})
    put(tmp_path / "home/.cursor/mcp.json", {"servers": {"x": ENTRY, "other": {"command": "npx"}}})
    put(tmp_path / "home/.codex/config.toml", "[mcpServers.skillhub]\ncommand = '/opt/skillhub-mcp'\n")
    put(tmp_path / "home/.config/opencode/opencode.json", {"mcpServers": {"skillhub": {"command": ["skillhub-mcp"]}}})
    files = found(tmp_path)
    misplaced = {client: [(one.name, one.key) for one in file.misplaced] for (client, _), file in files.items()}
    assert misplaced == {
        "vscode": [("skillhub", "mcpServers")],
        "cursor": [("x", "servers")],
        "codex": [("skillhub", "mcpServers")],
        "opencode": [("skillhub", "mcpServers")],
    }


def test_a_setting_that_only_has_our_name_is_no_entry(tmp_path: Path) -> None:
    put(tmp_path / "home/.config/zed/settings.json", {"mcp": {"skillhub": True}, "servers": {"skillhub": {"color": 1}}})
    assert found(tmp_path) == {}


def test_an_unreadable_file_is_reported_with_whether_it_names_skillhub(tmp_path: Path) -> None:
    put(tmp_path / "home/.cursor/mcp.json", '{"mcpServers": {"skillhub": ')
    put(tmp_path / "home/.lmstudio/mcp.json", "{")
    put(tmp_path / "home/.kiro/settings/mcp.json", {"mcpServers": []})
    files = {client: (bool(file.refusal), file.names_us) for (client, _), file in found(tmp_path).items()}
    assert files == {"cursor": (True, True), "lm-studio": (True, False), "kiro": (True, False)}


def test_entries_of_claude_code_for_one_project_are_found_too(tmp_path: Path) -> None:
    state = {
        "mcpServers": {"skillhub": ENTRY},
        "projects": {str(tmp_path / "project"): {"mcpServers": {"hub": ENTRY}}, "/other": {"mcpServers": {"x": ENTRY}}},
    }
    put(tmp_path / "home/.claude.json", state)
    file = found(tmp_path)["claude-code", ClientScope.USER]
    assert [one.name for one in file.connections] == ["skillhub", "hub"]


def test_a_home_that_is_its_own_project_is_read_once(tmp_path: Path) -> None:
    put(tmp_path / "home/.cursor/mcp.json", {"mcpServers": {"skillhub": ENTRY}})
    home = str(tmp_path / "home")
    (file,) = registered_files(Machine(System.LINUX, {}, home, home))
    assert (file.scope, len(file.connections)) == (ClientScope.USER, 1)
