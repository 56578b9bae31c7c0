"""Make links that add a server to a client with one click.

cursor://anysphere.cursor-deeplink/mcp/install?name=…&config=…   the entry as Base64 of JSON
lmstudio://add_mcp?name=…&config=…                               the same
vscode:mcp/install?…                                             the entry with its name, as JSON
vscode-insiders:mcp/install?…                                    the same
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from skillhub_mcp.clients.entries import DEFAULT_NAME, entry_of
from skillhub_mcp.clients.model import ClientEntry, Server
from skillhub_mcp.clients.table import client_named
from skillhub_mcp.errors import InvalidArgument

_BY_PARAMETERS = {
    "cursor": "cursor://anysphere.cursor-deeplink/mcp/install",
    "lm-studio": "lmstudio://add_mcp",
}
_BY_OBJECT = {
    "vscode": "vscode:mcp/install",
    "vscode-insiders": "vscode-insiders:mcp/install",
}

LINKED = (*_BY_PARAMETERS, *_BY_OBJECT)


def install_link(client_name: str, server: Server, *, name: str = DEFAULT_NAME) -> str:
    """Return the link that makes a client offer to add `server` under `name`. Raises InvalidArgument."""
    client = client_named(client_name)
    entry = entry_of(client, server, name=name)
    if client.name in _BY_OBJECT:
        return f"{_BY_OBJECT[client.name]}?{_quoted(_json({'name': name, **entry}))}"
    if client.name in _BY_PARAMETERS:
        config = base64.b64encode(_json(entry).encode()).decode()
        return f"{_BY_PARAMETERS[client.name]}?name={_quoted(name)}&config={_quoted(config)}"
    raise InvalidArgument(
        "--link",
        f"{client.title} opens no links that add a server",
        hint=f"those that do: {', '.join(LINKED)}; for the others leave --link out",
    )


def _json(entry: ClientEntry) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def _quoted(text: str) -> str:
    return quote(text, safe="")
