"""The table of clients, one row each."""

from __future__ import annotations

import difflib
import os
import shutil

from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client, FileFormat, HttpShape, StdioShape, VariableStyle
from skillhub_mcp.errors import InvalidArgument

SHELL = VariableStyle("${NAME}")
EDITOR = VariableStyle("${env:NAME}")

_STDIO = StdioShape(fixed={"type": "stdio"})
_HTTP = HttpShape(fixed={"type": "http"})


def _vs_code(name: str, title: str, directory: str) -> Client:
    return Client(
        name=name,
        title=title,
        directory=f"{{settings}}/{directory}/User",
        user_files=("mcp.json",),
        project_files=(".vscode/mcp.json",),
        programs=(name.replace("vscode", "code"),),
        key=("servers",),
        stdio=_STDIO,
        http=_HTTP,
        variables=EDITOR,
        then="start it with `MCP: List Servers`",
        link=f"{name}:mcp/install?JSON",
    )


def _gemini(name: str, title: str, directory: str, *, sign: str = "") -> Client:
    return Client(
        name=name,
        title=title,
        directory=f"~/{directory}",
        user_files=("settings.json",),
        project_files=(f"{directory}/settings.json",),
        sign=sign,
        programs=(name.partition("-")[0],),
        http=HttpShape("httpUrl"),
        variables=SHELL,
        # Each also under the name in earlier versions.
        excludes=(("mcp", "excluded"), ("excludeMCPServers",)),
        allows=(("mcp", "allowed"), ("allowMCPServers",)),
        in_terminal=True,
    )


CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-code",
        title="Claude Code",
        directory="~",
        moved_by="CLAUDE_CONFIG_DIR",
        user_files=(".claude.json",),
        project_files=(".mcp.json",),
        sign=".claude.json",
        programs=("claude",),
        stdio=_STDIO,
        http=_HTTP,
        variables=SHELL,
        # Every session writes the user's file.
        registrar="claude",
        in_terminal=True,
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        directory="{settings}/Claude",
        user_files=("claude_desktop_config.json",),
        programs=("claude-desktop",),
        http=None,
        then="quit it and start it again",
    ),
    Client(
        name="cursor",
        title="Cursor",
        directory="~/.cursor",
        user_files=("mcp.json",),
        project_files=(".cursor/mcp.json",),
        programs=("cursor", "cursor-agent"),
        variables=EDITOR,
        workspace="${workspaceFolder}",
        then="enable it in Settings, MCP",
        link="cursor://anysphere.cursor-deeplink/mcp/install?name=NAME&config=BASE64",
    ),
    _vs_code("vscode", "VS Code", "Code"),
    _vs_code("vscode-insiders", "VS Code Insiders", "Code - Insiders"),
    Client(
        name="windsurf",
        title="Windsurf",
        directory="~/.codeium/windsurf",
        user_files=("mcp_config.json",),
        programs=("windsurf",),
        http=HttpShape("serverUrl"),
        variables=EDITOR,
        then="press Refresh in Cascade's list of MCP servers",
    ),
    Client(
        name="codex",
        title="Codex",
        directory="~/.codex",
        moved_by="CODEX_HOME",
        user_files=("config.toml",),
        project_files=(".codex/config.toml",),
        programs=("codex",),
        file_format=FileFormat.TOML,
        key=("mcp_servers",),
        variables=VariableStyle(names_member="env_vars", token_member="bearer_token_env_var"),  # noqa: S106 - a name
        in_terminal=True,
    ),
    # Other programs keep their files in ~/.gemini too.
    _gemini("gemini-cli", "Gemini CLI", ".gemini", sign="settings.json"),
    _gemini("qwen-code", "Qwen Code", ".qwen"),
    Client(
        name="copilot-cli",
        title="GitHub Copilot CLI",
        directory="~/.copilot",
        moved_by="COPILOT_HOME",
        user_files=("mcp-config.json",),
        programs=("copilot",),
        stdio=StdioShape(fixed={"type": "local", "tools": ["*"]}),
        http=HttpShape(fixed={"type": "http", "tools": ["*"]}),
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="cline",
        title="Cline",
        directory="{settings}/Code/User/globalStorage/saoudrizwan.claude-dev",
        user_files=("settings/cline_mcp_settings.json",),
        stdio=_STDIO,
        http=HttpShape(fixed={"type": "streamableHttp"}),
        variables=EDITOR,
        then="open its list of MCP servers",
    ),
    Client(
        name="zed",
        title="Zed",
        directory="{config}/zed",
        directory_on_windows="{settings}/Zed",
        user_files=("settings.json",),
        project_files=(".zed/settings.json",),
        programs=("zed", "zeditor"),
        key=("context_servers",),
        then="",
    ),
    Client(
        name="opencode",
        title="OpenCode",
        directory="{config}/opencode",
        user_files=("opencode.json", "opencode.jsonc"),
        project_files=("opencode.json", "opencode.jsonc"),
        programs=("opencode",),
        key=("mcp",),
        stdio=StdioShape(fixed={"type": "local", "enabled": True}, command_is_list=True, environment="environment"),
        http=HttpShape(fixed={"type": "remote", "enabled": True}),
        variables=VariableStyle("{env:NAME}"),
        then="restart it",
        in_terminal=True,
    ),
    Client(
        name="lm-studio",
        title="LM Studio",
        directory="~/.lmstudio",
        user_files=("mcp.json",),
        programs=("lms",),
        then="switch it on in the Program tab",
        link="lmstudio://add_mcp?name=NAME&config=BASE64",
    ),
    Client(
        name="kiro",
        title="Kiro",
        directory="~/.kiro",
        user_files=("settings/mcp.json",),
        project_files=(".kiro/settings/mcp.json",),
        programs=("kiro", "kiro-cli"),
        variables=SHELL,
        then="",
    ),
    Client(
        name="droid",
        title="Factory Droid",
        directory="~/.factory",
        user_files=("mcp.json",),
        programs=("droid",),
        stdio=_STDIO,
        http=_HTTP,
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="antigravity",
        title="Antigravity",
        directory="~/.gemini",
        # Later versions share one file with their command line, and create it themselves.
        user_files=("antigravity/mcp_config.json", "config/mcp_config.json"),
        sign="antigravity",
        programs=("antigravity", "agy"),
        http=HttpShape("serverUrl"),
        then="press Refresh in Manage MCP Servers",
    ),
    Client(
        name="amp",
        title="Amp",
        directory="{config}/amp",
        user_files=("settings.json",),
        programs=("amp",),
        key=("amp.mcpServers",),
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="crush",
        title="Crush",
        directory="{config}/crush",
        moved_by="CRUSH_GLOBAL_CONFIG",
        user_files=("crush.json",),
        project_files=("crush.json", ".crush.json"),
        programs=("crush",),
        key=("mcp",),
        stdio=_STDIO,
        http=_HTTP,
        variables=VariableStyle("$NAME"),
        then="restart it",
        in_terminal=True,
    ),
    Client(
        name="goose",
        title="Goose",
        directory="{config}/goose",
        directory_on_windows="{settings}/Block/goose/config",
        programs=("goose",),
        file_format=FileFormat.YAML,
        key=("extensions",),
        stdio=StdioShape(fixed={"type": "stdio", "enabled": True, "timeout": 300}, command="cmd", environment="envs"),
        http=HttpShape("uri", fixed={"type": "streamable_http", "enabled": True, "timeout": 300}),
        variables=VariableStyle("${NAME}", names_member="env_keys"),
        where="~/.config/goose/config.yaml, on Windows %APPDATA%\\Block\\goose\\config\\config.yaml",
        entry_has_name=True,
        in_terminal=True,
    ),
    Client(
        name="continue",
        title="Continue",
        directory="~/.continue",
        programs=("cn",),
        file_format=FileFormat.YAML,
        http=HttpShape(fixed={"type": "streamable-http"}),
        variables=VariableStyle("${{ secrets.NAME }}"),
        then="reload its configuration",
        where="~/.continue/config.yaml",
        entries_are_listed=True,
        entry_has_name=True,
    ),
    Client(
        name="jetbrains",
        title="JetBrains AI Assistant",
        directory="{settings}/JetBrains",
        then="press Apply",
        where="Settings, Tools, AI Assistant, Model Context Protocol (MCP): Add, As JSON",
    ),
    Client(
        name="other",
        title="any other client",
        then="restart it",
        where="the file or the page of its settings that lists MCP servers; its documentation says which",
    ),
)
LINKED = sorted(client.name for client in CLIENTS if client.link)


def client_named(name: str) -> Client:
    """Return the client of that name. Raises InvalidArgument, which names similar ones."""
    known = {client.name: client for client in CLIENTS}
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted in known:
        return known[wanted]
    begun = [one for one in known if one.startswith(wanted)] if wanted else []
    started = [one.name for one in CLIENTS if wanted in one.programs]
    near = list(dict.fromkeys(started + begun)) or difflib.get_close_matches(wanted, known, n=2)
    guess = "did you mean " + " or ".join(repr(one) for one in near) + "? " if near else ""
    raise InvalidArgument(
        "CLIENT",
        f"{name!r} is not a known client",
        hint=f"{guess}`skillhub connect --list` lists them; `skillhub connect other` prints an entry for others",
    )


def signs_of(client: Client, machine: Machine) -> tuple[str, ...]:
    """Return what shows that a client is installed: a file or directory of its own, and its programs on PATH."""
    sign = client.place(client.sign, machine) if client.directory else ""
    found = [sign] if os.path.exists(sign) else []
    programs = (shutil.which(program, path=machine.environment.get("PATH", "")) for program in client.programs)
    return (*found, *(program for program in programs if program is not None))
