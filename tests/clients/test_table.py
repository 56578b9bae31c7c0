"""The table of clients: the places of their files on three systems, and their entries for a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from skillhub_mcp.clients.editing import whole_file
from skillhub_mcp.clients.entries import entry_of, server_of
from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import Client, ClientScope, FileFormat, HttpServer, Server, StdioServer
from skillhub_mcp.clients.table import CLIENTS, client_named
from skillhub_mcp.errors import InvalidArgument

LINUX = Machine(System.LINUX, {}, "/home/ada", "/work/engine")
MACOS = Machine(System.MACOS, {}, "/Users/ada", "/Users/ada/engine")
WINDOWS = Machine(System.WINDOWS, {"APPDATA": r"D:\Roaming"}, r"C:\Users\ada", r"C:\engine")

SETTINGS = "Library/Application Support"
CLINE = ("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")

# Paths below the home on Linux, macOS and Windows; `%` is the directory of desktop programs' settings.
USER_FILES = {
    "claude-code": (".claude.json",) * 3,
    "claude-desktop": ("%/Claude/claude_desktop_config.json",) * 3,
    "cursor": (".cursor/mcp.json",) * 3,
    "vscode": ("%/Code/User/mcp.json",) * 3,
    "vscode-insiders": ("%/Code - Insiders/User/mcp.json",) * 3,
    "windsurf": (".codeium/windsurf/mcp_config.json",) * 3,
    "codex": (".codex/config.toml",) * 3,
    "gemini-cli": (".gemini/settings.json",) * 3,
    "qwen-code": (".qwen/settings.json",) * 3,
    "copilot-cli": (".copilot/mcp-config.json",) * 3,
    "cline": ("%/" + "/".join(CLINE),) * 3,
    "zed": (".config/zed/settings.json", ".config/zed/settings.json", "%/Zed/settings.json"),
    "opencode": (".config/opencode/opencode.json",) * 3,
    "lm-studio": (".lmstudio/mcp.json",) * 3,
    "kiro": (".kiro/settings/mcp.json",) * 3,
    "droid": (".factory/mcp.json",) * 3,
    "antigravity": (".gemini/antigravity/mcp_config.json",) * 3,
    "amp": (".config/amp/settings.json",) * 3,
    "crush": (".config/crush/crush.json",) * 3,
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "vscode-insiders": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "qwen-code": ".qwen/settings.json",
    "zed": ".zed/settings.json",
    "opencode": "opencode.json",
    "kiro": ".kiro/settings/mcp.json",
    "crush": "crush.json",
}
PRINTED = {"goose", "continue", "jetbrains", "other"}

STDIO = StdioServer("/opt/skillhub-mcp")
FULL = StdioServer("/opt/skillhub-mcp", ("--cwd", "/x"), {"LOG_LEVEL": "ERROR"}, ("OPENAI_API_KEY",))
HTTP = HttpServer("http://127.0.0.1:8000/mcp")


@pytest.mark.parametrize("name", USER_FILES)
def test_the_users_file_has_the_clients_place_on_each_system(name: str) -> None:
    client = client_named(name)
    settings = (".config", SETTINGS)
    for machine, written, place in zip((LINUX, MACOS), USER_FILES[name], settings, strict=False):
        path = written.replace("%", place)
        assert client.files(ClientScope.USER, machine)[0] == f"{machine.home}/{path}"
    windows = USER_FILES[name][2].replace("/", "\\")
    expected = windows.replace("%", r"D:\Roaming") if windows.startswith("%") else rf"C:\Users\ada\{windows}"
    assert client.files(ClientScope.USER, WINDOWS)[0] == expected


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_the_projects_file_is_below_its_root(name: str) -> None:
    client = client_named(name)
    assert client.files(ClientScope.PROJECT, LINUX)[0] == f"/work/engine/{PROJECT_FILES[name]}"
    windows = PROJECT_FILES[name].replace("/", "\\")
    assert client.files(ClientScope.PROJECT, WINDOWS)[0] == rf"C:\engine\{windows}"


def test_a_client_has_a_file_or_a_place_to_paste() -> None:
    for client in CLIENTS:
        assert bool(client.files(ClientScope.USER, LINUX)) is not client.is_printed, client.name
    assert {client.name for client in CLIENTS if client.is_printed} == PRINTED
    assert {client.name for client in CLIENTS} == set(USER_FILES) | PRINTED
    assert {client.name for client in CLIENTS if client.files(ClientScope.PROJECT, LINUX)} == set(PROJECT_FILES)


@pytest.mark.parametrize(
    ("name", "variable", "value", "expected"),
    [
        ("codex", "CODEX_HOME", "/etc/codex", "/etc/codex/config.toml"),
        ("copilot-cli", "COPILOT_HOME", "/etc/copilot", "/etc/copilot/mcp-config.json"),
        ("crush", "CRUSH_GLOBAL_CONFIG", "/etc/crush", "/etc/crush/crush.json"),
        ("zed", "XDG_CONFIG_HOME", "/etc/xdg", "/etc/xdg/zed/settings.json"),
        ("vscode", "XDG_CONFIG_HOME", "/etc/xdg", "/etc/xdg/Code/User/mcp.json"),
        ("codex", "CODEX_HOME", "", "/home/ada/.codex/config.toml"),
    ],
)
def test_a_variable_that_the_client_reads_moves_its_file(name: str, variable: str, value: str, expected: str) -> None:
    machine = Machine(System.LINUX, {variable: value}, "/home/ada", "/work")
    assert client_named(name).files(ClientScope.USER, machine)[0] == expected


def test_windows_without_appdata_uses_the_default_directory() -> None:
    bare = Machine(System.WINDOWS, {}, r"C:\Users\ada", r"C:\engine")
    assert client_named("vscode").files(ClientScope.USER, bare) == (r"C:\Users\ada\AppData\Roaming\Code\User\mcp.json",)


COMMAND = {"command": "/opt/skillhub-mcp", "args": []}
URL = "http://127.0.0.1:8000/mcp"
ENTRIES: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "claude-code": ({"type": "stdio", **COMMAND}, {"type": "http", "url": URL}),
    "claude-desktop": (COMMAND, None),
    "cursor": (COMMAND, {"url": URL}),
    "vscode": ({"type": "stdio", **COMMAND}, {"type": "http", "url": URL}),
    "windsurf": (COMMAND, {"serverUrl": URL}),
    "codex": (COMMAND, {"url": URL}),
    "gemini-cli": (COMMAND, {"httpUrl": URL}),
    "qwen-code": (COMMAND, {"httpUrl": URL}),
    "copilot-cli": ({"type": "local", **COMMAND, "tools": ["*"]}, {"type": "http", "url": URL, "tools": ["*"]}),
    "cline": ({"type": "stdio", **COMMAND}, {"type": "streamableHttp", "url": URL}),
    "opencode": (
        {"type": "local", "command": ["/opt/skillhub-mcp"], "enabled": True},
        {"type": "remote", "url": URL, "enabled": True},
    ),
    "antigravity": (COMMAND, {"serverUrl": URL}),
    "crush": ({"type": "stdio", **COMMAND}, {"type": "http", "url": URL}),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_has_the_clients_member_names(name: str) -> None:
    stdio, http = ENTRIES[name]
    client = client_named(name)
    assert entry_of(client, STDIO) == stdio
    if http is not None:
        assert entry_of(client, HTTP) == http
        return
    with pytest.raises(InvalidArgument, match="starts its servers itself"):
        entry_of(client, HTTP)


@pytest.mark.parametrize(
    ("name", "member", "expected"),
    [
        ("cursor", "env", {"LOG_LEVEL": "ERROR", "OPENAI_API_KEY": "${env:OPENAI_API_KEY}"}),
        ("gemini-cli", "env", {"LOG_LEVEL": "ERROR", "OPENAI_API_KEY": "${OPENAI_API_KEY}"}),
        ("opencode", "environment", {"LOG_LEVEL": "ERROR", "OPENAI_API_KEY": "{env:OPENAI_API_KEY}"}),
        ("crush", "env", {"LOG_LEVEL": "ERROR", "OPENAI_API_KEY": "$OPENAI_API_KEY"}),
        ("codex", "env", {"LOG_LEVEL": "ERROR"}),
        ("codex", "env_vars", ["OPENAI_API_KEY"]),
        ("goose", "env_keys", ["OPENAI_API_KEY"]),
    ],
)
def test_a_variable_is_referenced_in_the_clients_syntax(name: str, member: str, expected: object) -> None:
    assert entry_of(client_named(name), FULL)[member] == expected


@pytest.mark.parametrize("name", ["claude-desktop", "zed", "lm-studio", "antigravity"])
def test_no_secret_is_written_for_a_client_without_variables(name: str) -> None:
    with pytest.raises(InvalidArgument, match="OPENAI_API_KEY cannot be named"):
        entry_of(client_named(name), FULL)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("codex", {"bearer_token_env_var": "HUB_TOKEN"}),
        ("cursor", {"headers": {"Authorization": "Bearer ${env:HUB_TOKEN}"}}),
        ("opencode", {"headers": {"Authorization": "Bearer {env:HUB_TOKEN}"}}),
    ],
)
def test_a_token_is_referenced_by_its_variable(name: str, expected: dict[str, object]) -> None:
    entry = entry_of(client_named(name), HttpServer("https://hub.example/mcp", "HUB_TOKEN"))
    assert {key: value for key, value in entry.items() if key in expected} == expected


def servers(client: Client) -> list[Server]:
    """Return servers of every kind that `client` can reach."""
    found: list[Server] = [STDIO, StdioServer("a b", ("-x", "y z"), {"A": "1"})]
    if client.http is not None:
        found.append(HTTP)
    if client.variables.can_name:
        found.append(FULL)
        if client.http is not None:
            found.append(HttpServer("https://hub.example/mcp", "HUB_TOKEN"))
    return found


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_an_entry_reads_back_as_the_same_server(client: Client) -> None:
    for server in servers(client):
        assert server_of(client, entry_of(client, server)) == server


@pytest.mark.parametrize("entry", [{}, {"command": 3}, {"command": "x", "args": "y"}, {"httpUrl": "http://x"}])
def test_an_entry_that_the_client_cannot_use_has_no_server(entry: dict[str, Any]) -> None:
    assert server_of(client_named("cursor"), entry) is None


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_whole_file_contains_only_the_entry(client: Client) -> None:
    for server in servers(client):
        text = whole_file(client, server, name="my hub")
        assert text.endswith("\n")
        parsers: dict[FileFormat, Callable[[str], Any]] = {
            FileFormat.TOML: tomlkit.loads,
            FileFormat.YAML: yaml.safe_load,
        }
        content = parsers.get(client.file_format, json.loads)(text)
        for key in client.key:
            content = content[key]
        entry = entry_of(client, server, name="my hub")
        assert content == ([entry] if client.entries_are_listed else {"my hub": entry})


def test_the_guide_names_every_client() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "connect.md"
    text = guide.read_text(encoding="utf-8")
    assert [client.name for client in CLIENTS if f"`{client.name}`" not in text] == []


@pytest.mark.parametrize(
    ("typed", "hint"), [("curser", "'cursor'"), ("claude", "'claude-code' or 'claude-desktop'"), ("", "--list")]
)
def test_an_unknown_client_gets_similar_names(typed: str, hint: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        client_named(typed)
    assert hint in (raised.value.hint or "")


def test_case_spaces_and_underscores_in_a_clients_name_are_accepted() -> None:
    assert client_named("Claude Code").name == "claude-code"
    assert client_named("gemini_cli").name == "gemini-cli"
