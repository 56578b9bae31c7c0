"""The table of clients, one row each."""

from __future__ import annotations

import difflib
import os
import shutil

from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import (
    Client,
    FileFormat,
    FilePlaces,
    HttpShape,
    StdioShape,
    VariableStyle,
)
from skillhub_mcp.errors import InvalidArgument

SHELL = VariableStyle("${NAME}")
EDITOR = VariableStyle("${env:NAME}")

# Each also under the name in earlier versions of the client.
_EXCLUDED = (("mcp", "excluded"), ("excludeMCPServers",))
_ALLOWED = (("mcp", "allowed"), ("allowMCPServers",))
_RESTART = "restart it"


def _home(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_home(*parts),)


def _config(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_config(*parts),)


def _settings(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_settings(*parts),)


def _project(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_project(*parts),)


def _application(directory: FilePlaces, bundle: str, *, windows: str = "") -> FilePlaces:
    return lambda machine: (*directory(machine), *machine.applications(bundle, windows=windows))


def _zed(machine: Machine) -> str:
    return machine.in_settings("Zed") if machine.system is System.WINDOWS else machine.in_config("zed")


def _codex(machine: Machine, *parts: str) -> str:
    return machine.in_variable("CODEX_HOME", *parts, default=machine.in_home(".codex"))


def _copilot(machine: Machine, *parts: str) -> str:
    return machine.in_variable("COPILOT_HOME", *parts, default=machine.in_home(".copilot"))


def _crush(machine: Machine, *parts: str) -> str:
    return machine.in_variable("CRUSH_GLOBAL_CONFIG", *parts, default=machine.in_config("crush"))


def _goose(machine: Machine) -> str:
    if machine.system is System.WINDOWS:
        return machine.in_settings("Block", "goose", "config")
    return machine.in_config("goose")


def _claude_code_state(machine: Machine) -> str:
    return machine.in_variable("CLAUDE_CONFIG_DIR", ".claude.json", default=machine.home)


def _vs_code(name: str, title: str, directory: str, windows: str) -> Client:
    bundle = title.replace("VS Code", "Visual Studio Code").replace("Code Insiders", "Code - Insiders")
    return Client(
        name=name,
        title=title,
        file_format=FileFormat.JSONC,
        key=("servers",),
        user_files=_settings(directory, "User", "mcp.json"),
        project_files=_project(".vscode", "mcp.json"),
        signs=_application(_settings(directory, "User"), bundle, windows=windows),
        programs=(name.replace("vscode", "code"),),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=EDITOR,
        then="start it with `MCP: List Servers`",
    )


CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-code",
        title="Claude Code",
        # Sessions write `~/.claude.json` all the time.
        project_files=_project(".mcp.json"),
        signs=lambda machine: (_claude_code_state(machine),),
        programs=("claude",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=SHELL,
        registrar="claude",
        registry_files=lambda machine: (_claude_code_state(machine),),
        in_terminal=True,
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        user_files=_settings("Claude", "claude_desktop_config.json"),
        signs=_application(_settings("Claude"), "Claude", windows="Claude"),
        programs=("claude-desktop",),
        http=None,
        then="quit it and start it again",
    ),
    Client(
        name="cursor",
        title="Cursor",
        user_files=_home(".cursor", "mcp.json"),
        project_files=_project(".cursor", "mcp.json"),
        signs=_application(_home(".cursor"), "Cursor", windows="cursor"),
        programs=("cursor", "cursor-agent"),
        variables=EDITOR,
        workspace="${workspaceFolder}",
        then="enable it in Settings, MCP",
    ),
    _vs_code("vscode", "VS Code", "Code", "Microsoft VS Code"),
    _vs_code("vscode-insiders", "VS Code Insiders", "Code - Insiders", "Microsoft VS Code Insiders"),
    Client(
        name="windsurf",
        title="Windsurf",
        user_files=_home(".codeium", "windsurf", "mcp_config.json"),
        signs=_application(_home(".codeium", "windsurf"), "Windsurf", windows="Windsurf"),
        programs=("windsurf",),
        http=HttpShape("serverUrl"),
        variables=EDITOR,
        then="press Refresh in Cascade's list of MCP servers",
    ),
    Client(
        name="codex",
        title="Codex",
        file_format=FileFormat.TOML,
        key=("mcp_servers",),
        user_files=lambda machine: (_codex(machine, "config.toml"),),
        project_files=_project(".codex", "config.toml"),
        signs=lambda machine: (_codex(machine),),
        programs=("codex",),
        variables=VariableStyle(names_member="env_vars", token_member="bearer_token_env_var"),  # noqa: S106 - a name
        in_terminal=True,
    ),
    Client(
        name="gemini-cli",
        title="Gemini CLI",
        file_format=FileFormat.JSONC,
        user_files=_home(".gemini", "settings.json"),
        project_files=_project(".gemini", "settings.json"),
        # Other programs keep their files in `~/.gemini` too.
        signs=_home(".gemini", "settings.json"),
        programs=("gemini",),
        http=HttpShape("httpUrl"),
        variables=SHELL,
        excludes=_EXCLUDED,
        allows=_ALLOWED,
        in_terminal=True,
    ),
    Client(
        name="qwen-code",
        title="Qwen Code",
        file_format=FileFormat.JSONC,
        user_files=_home(".qwen", "settings.json"),
        project_files=_project(".qwen", "settings.json"),
        signs=_home(".qwen"),
        programs=("qwen",),
        http=HttpShape("httpUrl"),
        variables=SHELL,
        excludes=_EXCLUDED,
        allows=_ALLOWED,
        in_terminal=True,
    ),
    Client(
        name="copilot-cli",
        title="GitHub Copilot CLI",
        user_files=lambda machine: (_copilot(machine, "mcp-config.json"),),
        signs=lambda machine: (_copilot(machine),),
        programs=("copilot",),
        stdio=StdioShape(fixed={"type": "local", "tools": ["*"]}),
        http=HttpShape(fixed={"type": "http", "tools": ["*"]}),
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="cline",
        title="Cline",
        user_files=_settings(
            "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"
        ),
        signs=_settings("Code", "User", "globalStorage", "saoudrizwan.claude-dev"),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "streamableHttp"}),
        variables=EDITOR,
        then="open its list of MCP servers",
    ),
    Client(
        name="zed",
        title="Zed",
        file_format=FileFormat.JSONC,
        key=("context_servers",),
        user_files=lambda machine: (machine.join(_zed(machine), "settings.json"),),
        project_files=_project(".zed", "settings.json"),
        signs=_application(lambda machine: (_zed(machine),), "Zed", windows="Zed"),
        programs=("zed", "zeditor"),
        then="",
    ),
    Client(
        name="opencode",
        title="OpenCode",
        file_format=FileFormat.JSONC,
        key=("mcp",),
        user_files=lambda machine: (
            machine.in_config("opencode", "opencode.json"),
            machine.in_config("opencode", "opencode.jsonc"),
        ),
        project_files=lambda machine: (machine.in_project("opencode.json"), machine.in_project("opencode.jsonc")),
        signs=_config("opencode"),
        programs=("opencode",),
        stdio=StdioShape(fixed={"type": "local", "enabled": True}, command_is_list=True, environment="environment"),
        http=HttpShape(fixed={"type": "remote", "enabled": True}),
        variables=VariableStyle("{env:NAME}"),
        then=_RESTART,
        in_terminal=True,
    ),
    Client(
        name="lm-studio",
        title="LM Studio",
        user_files=_home(".lmstudio", "mcp.json"),
        signs=_application(_home(".lmstudio"), "LM Studio", windows="LM Studio"),
        programs=("lms",),
        then="switch it on in the Program tab",
    ),
    Client(
        name="kiro",
        title="Kiro",
        user_files=_home(".kiro", "settings", "mcp.json"),
        project_files=_project(".kiro", "settings", "mcp.json"),
        signs=_application(_home(".kiro"), "Kiro", windows="Kiro"),
        programs=("kiro", "kiro-cli"),
        variables=SHELL,
        then="",
    ),
    Client(
        name="droid",
        title="Factory Droid",
        user_files=_home(".factory", "mcp.json"),
        signs=_home(".factory"),
        programs=("droid",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="antigravity",
        title="Antigravity",
        # Later versions share one file with their command line, and create it themselves.
        user_files=lambda machine: (
            machine.in_home(".gemini", "antigravity", "mcp_config.json"),
            machine.in_home(".gemini", "config", "mcp_config.json"),
        ),
        signs=_application(_home(".gemini", "antigravity"), "Antigravity", windows="Antigravity"),
        programs=("antigravity", "agy"),
        http=HttpShape("serverUrl"),
        then="press Refresh in Manage MCP Servers",
    ),
    Client(
        name="amp",
        title="Amp",
        file_format=FileFormat.JSONC,
        key=("amp.mcpServers",),
        user_files=_config("amp", "settings.json"),
        signs=_config("amp"),
        programs=("amp",),
        variables=SHELL,
        in_terminal=True,
    ),
    Client(
        name="crush",
        title="Crush",
        key=("mcp",),
        user_files=lambda machine: (_crush(machine, "crush.json"),),
        project_files=lambda machine: (machine.in_project("crush.json"), machine.in_project(".crush.json")),
        signs=lambda machine: (_crush(machine),),
        programs=("crush",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=VariableStyle("$NAME"),
        then=_RESTART,
        in_terminal=True,
    ),
    Client(
        name="goose",
        title="Goose",
        file_format=FileFormat.YAML,
        key=("extensions",),
        signs=lambda machine: (_goose(machine),),
        programs=("goose",),
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
        file_format=FileFormat.YAML,
        signs=_home(".continue"),
        programs=("cn",),
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
        signs=_settings("JetBrains"),
        then="press Apply",
        where="Settings, Tools, AI Assistant, Model Context Protocol (MCP): Add, As JSON",
    ),
    Client(
        name="other",
        title="any other client",
        signs=lambda _: (),
        then=_RESTART,
        where="the file or the page of its settings that lists MCP servers; its documentation says which",
    ),
)


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
    """Return what shows that a client is installed: its files and directories, and its program on PATH."""
    found = [path for path in client.signs(machine) if os.path.exists(path)]
    programs = (shutil.which(program, path=machine.environment.get("PATH", "")) for program in client.programs)
    return (*found, *(program for program in programs if program is not None))
