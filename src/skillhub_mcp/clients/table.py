"""The table of clients: one row each. Where a client changes its places or its words, its row is all that changes."""

from __future__ import annotations

import difflib

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
NO_VARIABLES = VariableStyle()

_SERVERS = ("mcpServers",)
# Each with the name that earlier versions gave it.
_EXCLUDED = (("mcp", "excluded"), ("excludeMCPServers",))
_ALLOWED = (("mcp", "allowed"), ("allowMCPServers",))
_RESTART = "restart it"


def _none(_: Machine) -> tuple[str, ...]:
    return ()


def _home(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_home(*parts),)


def _config(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_config(*parts),)


def _settings(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_settings(*parts),)


def _project(*parts: str) -> FilePlaces:
    return lambda machine: (machine.in_project(*parts),)


def _application(directory: FilePlaces, bundle: str, *, windows: str = "") -> FilePlaces:
    """Return the signs of a desktop program: its directory of settings, and the program itself."""
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


CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-code",
        title="Claude Code",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        # `~/.claude.json` holds the state of every session: the program writes it while we would.
        user_files=_none,
        project_files=_project(".mcp.json"),
        signs=lambda machine: (_claude_code_state(machine),),
        programs=("claude",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=SHELL,
        then="start a new session",
        registrar="claude",
        registry_files=lambda machine: (_claude_code_state(machine),),
        in_terminal=True,
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_settings("Claude", "claude_desktop_config.json"),
        project_files=_none,
        signs=_application(_settings("Claude"), "Claude", windows="Claude"),
        programs=("claude-desktop",),
        stdio=StdioShape(),
        http=None,
        variables=NO_VARIABLES,
        then="quit it and start it again",
    ),
    Client(
        name="cursor",
        title="Cursor",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_home(".cursor", "mcp.json"),
        project_files=_project(".cursor", "mcp.json"),
        signs=_application(_home(".cursor"), "Cursor", windows="cursor"),
        programs=("cursor", "cursor-agent"),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=EDITOR,
        then="enable it in Settings, MCP",
    ),
    Client(
        name="vscode",
        title="VS Code",
        file_format=FileFormat.JSONC,
        key=("servers",),
        user_files=_settings("Code", "User", "mcp.json"),
        project_files=_project(".vscode", "mcp.json"),
        signs=_application(_settings("Code", "User"), "Visual Studio Code", windows="Microsoft VS Code"),
        programs=("code",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=EDITOR,
        then="start it with `MCP: List Servers`",
    ),
    Client(
        name="vscode-insiders",
        title="VS Code Insiders",
        file_format=FileFormat.JSONC,
        key=("servers",),
        user_files=_settings("Code - Insiders", "User", "mcp.json"),
        project_files=_project(".vscode", "mcp.json"),
        signs=_application(
            _settings("Code - Insiders", "User"),
            "Visual Studio Code - Insiders",
            windows="Microsoft VS Code Insiders",
        ),
        programs=("code-insiders",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=EDITOR,
        then="start it with `MCP: List Servers`",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_home(".codeium", "windsurf", "mcp_config.json"),
        project_files=_none,
        signs=_application(_home(".codeium", "windsurf"), "Windsurf", windows="Windsurf"),
        programs=("windsurf",),
        stdio=StdioShape(),
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
        stdio=StdioShape(),
        http=HttpShape(),
        variables=VariableStyle(names_member="env_vars", token_member="bearer_token_env_var"),  # noqa: S106 - a name
        then="start a new session",
        in_terminal=True,
    ),
    Client(
        name="gemini-cli",
        title="Gemini CLI",
        file_format=FileFormat.JSONC,
        key=_SERVERS,
        user_files=_home(".gemini", "settings.json"),
        project_files=_project(".gemini", "settings.json"),
        # Other programs keep their files in `~/.gemini` too.
        signs=_home(".gemini", "settings.json"),
        programs=("gemini",),
        stdio=StdioShape(),
        http=HttpShape("httpUrl"),
        variables=SHELL,
        then="start a new session",
        excludes=_EXCLUDED,
        allows=_ALLOWED,
        in_terminal=True,
    ),
    Client(
        name="qwen-code",
        title="Qwen Code",
        file_format=FileFormat.JSONC,
        key=_SERVERS,
        user_files=_home(".qwen", "settings.json"),
        project_files=_project(".qwen", "settings.json"),
        signs=_home(".qwen"),
        programs=("qwen",),
        stdio=StdioShape(),
        http=HttpShape("httpUrl"),
        variables=SHELL,
        then="start a new session",
        excludes=_EXCLUDED,
        allows=_ALLOWED,
        in_terminal=True,
    ),
    Client(
        name="copilot-cli",
        title="GitHub Copilot CLI",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=lambda machine: (_copilot(machine, "mcp-config.json"),),
        project_files=_none,
        signs=lambda machine: (_copilot(machine),),
        programs=("copilot",),
        stdio=StdioShape(fixed={"type": "local", "tools": ["*"]}),
        http=HttpShape(fixed={"type": "http", "tools": ["*"]}),
        variables=SHELL,
        then="start a new session",
        in_terminal=True,
    ),
    Client(
        name="cline",
        title="Cline",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_settings(
            "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"
        ),
        project_files=_none,
        signs=_settings("Code", "User", "globalStorage", "saoudrizwan.claude-dev"),
        programs=(),
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
        stdio=StdioShape(),
        http=HttpShape(),
        variables=NO_VARIABLES,
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
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_home(".lmstudio", "mcp.json"),
        project_files=_none,
        signs=_application(_home(".lmstudio"), "LM Studio", windows="LM Studio"),
        programs=("lms",),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=NO_VARIABLES,
        then="switch it on in the Program tab",
    ),
    Client(
        name="kiro",
        title="Kiro",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_home(".kiro", "settings", "mcp.json"),
        project_files=_project(".kiro", "settings", "mcp.json"),
        signs=_application(_home(".kiro"), "Kiro", windows="Kiro"),
        programs=("kiro", "kiro-cli"),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=SHELL,
        then="",
    ),
    Client(
        name="droid",
        title="Factory Droid",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_home(".factory", "mcp.json"),
        project_files=_none,
        signs=_home(".factory"),
        programs=("droid",),
        stdio=StdioShape(fixed={"type": "stdio"}),
        http=HttpShape(fixed={"type": "http"}),
        variables=SHELL,
        then="start a new session",
        in_terminal=True,
    ),
    Client(
        name="antigravity",
        title="Antigravity",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        # Later versions share one file with their command line, and create it themselves.
        user_files=lambda machine: (
            machine.in_home(".gemini", "antigravity", "mcp_config.json"),
            machine.in_home(".gemini", "config", "mcp_config.json"),
        ),
        project_files=_none,
        signs=_application(_home(".gemini", "antigravity"), "Antigravity", windows="Antigravity"),
        programs=("antigravity", "agy"),
        stdio=StdioShape(),
        http=HttpShape("serverUrl"),
        variables=NO_VARIABLES,
        then="press Refresh in Manage MCP Servers",
    ),
    Client(
        name="amp",
        title="Amp",
        file_format=FileFormat.JSONC,
        key=("amp.mcpServers",),
        user_files=_config("amp", "settings.json"),
        project_files=_none,
        signs=_config("amp"),
        programs=("amp",),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=SHELL,
        then="start a new session",
        in_terminal=True,
    ),
    Client(
        name="crush",
        title="Crush",
        file_format=FileFormat.JSON,
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
        user_files=_none,
        project_files=_none,
        signs=lambda machine: (_goose(machine),),
        programs=("goose",),
        stdio=StdioShape(fixed={"type": "stdio", "enabled": True, "timeout": 300}, command="cmd", environment="envs"),
        http=HttpShape("uri", fixed={"type": "streamable_http", "enabled": True, "timeout": 300}),
        variables=VariableStyle("${NAME}", names_member="env_keys"),
        then="start a new session",
        where="~/.config/goose/config.yaml, on Windows %APPDATA%\\Block\\goose\\config\\config.yaml",
        entry_has_name=True,
        in_terminal=True,
    ),
    Client(
        name="continue",
        title="Continue",
        file_format=FileFormat.YAML,
        key=_SERVERS,
        user_files=_none,
        project_files=_none,
        signs=_home(".continue"),
        programs=("cn",),
        stdio=StdioShape(),
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
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_none,
        project_files=_none,
        signs=_settings("JetBrains"),
        programs=(),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=NO_VARIABLES,
        then="press Apply",
        where="Settings, Tools, AI Assistant, Model Context Protocol (MCP): Add, As JSON",
    ),
    Client(
        name="other",
        title="any other client",
        file_format=FileFormat.JSON,
        key=_SERVERS,
        user_files=_none,
        project_files=_none,
        signs=_none,
        programs=(),
        stdio=StdioShape(),
        http=HttpShape(),
        variables=NO_VARIABLES,
        then=_RESTART,
        where="the file or the page of its settings that lists MCP servers; its documentation says which",
    ),
)


def client_named(name: str) -> Client:
    """Return the client of that name. Raises InvalidArgument, with those that have such a command or a similar name."""
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
        f"{name!r} is no client that SkillHub knows",
        hint=f"{guess}`skillhub connect --list` lists them; `skillhub connect other` prints an entry for others",
    )
