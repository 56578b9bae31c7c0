"""What is generated from the table of clients: `examples/clients`, and the snippets of the README.

Nothing here names a directory of skills: a server without SKILLS_DIR serves the project's skills and the person's own.
The command is the bare one, which is right where the client has the shell's PATH; `skillhub connect` writes the
absolute one for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from skillhub_mcp.clients.editing import whole_file
from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import Client, ClientScope, FileFormat, HttpServer, Server, StdioServer
from skillhub_mcp.clients.table import CLIENTS, client_named

STDIO = StdioServer("skillhub-mcp")
HTTP = HttpServer("http://127.0.0.1:8000/mcp")

_LINUX = Machine(System.LINUX, {}, "~", "")
_MACOS = Machine(System.MACOS, {}, "~", "")
_WINDOWS = Machine(System.WINDOWS, {"APPDATA": "%APPDATA%"}, "~", "")

_SNIPPETS = """\
{blocks}

[examples/clients](examples/clients) has the file of each client that SkillHub knows, over stdio and over HTTP.
"""
# The clients that stand for the forms there are, with the words that introduce each.
_FORMS = (("cursor", "{names} and most others:"), ("vscode", "{names}:"), ("codex", "{names}:"))
_MOST_KNOWN = {"cursor", "claude-desktop", "windsurf", "gemini-cli", "vscode", "vscode-insiders", "codex"}


def client_files() -> dict[str, str]:
    """Return the text of each client's files by their paths below `examples/clients`."""
    return {name: text for client in CLIENTS for name, text in _files_of(client)}


def clients_table() -> str:
    """Return the table of `examples/clients/README.md`."""
    head = "| client | over stdio | over HTTP | goes to | in a project | then |"
    return "\n".join((head, "|---" * 6 + "|", *map(_row, CLIENTS))) + "\n"


def readme_snippets() -> str:
    """Return the part of the README that shows entries, one for each form."""
    blocks = []
    for example, words in _FORMS:
        client = client_named(example)
        alike = [one.title for one in CLIENTS if one.name in _MOST_KNOWN and _text(one, STDIO) == _text(client, STDIO)]
        language = "toml" if client.file_format is FileFormat.TOML else "json"
        blocks.append(f"{words.format(names=', '.join(alike))}\n\n```{language}\n{_text(client, STDIO)}```")
    return _SNIPPETS.format(blocks="\n\n".join(blocks))


def _files_of(client: Client) -> Iterator[tuple[str, str]]:
    yield _path(client), _text(client, STDIO)
    if client.http is not None:
        yield _path(client, ".http"), _text(client, HTTP)


def _text(client: Client, server: Server) -> str:
    return whole_file(client, server)


def _path(client: Client, kind: str = "") -> str:
    scopes = (ClientScope.PROJECT,) if client.registrar else (ClientScope.USER, ClientScope.PROJECT)
    places = [path for scope in scopes for path in client.files(scope, _LINUX)]
    if places:
        name = PurePosixPath(PurePosixPath(places[0]).name.lstrip("."))
    else:
        name = PurePosixPath("config.yaml" if client.file_format is FileFormat.YAML else "mcp.json")
    return f"{client.name}/{name.stem}{kind}{name.suffix}"


def _row(client: Client) -> str:
    stdio, http = _path(client), _path(client, ".http")
    project = client.files(ClientScope.PROJECT, _LINUX)
    cells = (
        client.title,
        f"[{PurePosixPath(stdio).name}]({stdio})",
        "" if client.http is None else f"[{PurePosixPath(http).name}]({http})",
        _destination(client),
        f"`{project[0]}`" if project else "",
        client.then,
    )
    return f"| {' | '.join(cells)} |"


def _destination(client: Client) -> str:
    if client.is_printed:
        return client.where
    if client.registrar:
        return f"`{client.registrar} mcp add-json` registers it"
    linux, macos, windows = (client.files(ClientScope.USER, machine)[0] for machine in (_LINUX, _MACOS, _WINDOWS))
    if linux == macos == windows.replace("\\", "/"):
        return f"`{linux}`"
    if linux == macos:
        return f"`{linux}`, on Windows `{windows}`"
    return f"`{linux}`, on macOS `{macos}`, on Windows `{windows}`"
