"""The links that add a server to a client, parsed as the clients parse them."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from skillhub_mcp.clients import entries
from skillhub_mcp.clients.model import HttpServer, Server, StdioServer
from skillhub_mcp.clients.table import LINKED, client_named
from skillhub_mcp.errors import InvalidArgument

# Every character with a meaning in URLs, Base64 or JSON.
SERVER = StdioServer("/opt/Ada & Co/“skill+hub”/skillhub-mcp", ("--cwd", "/a?b=c#d"), {"LOG_LEVEL": "ERROR"})
ENTRY = {
    "command": "/opt/Ada & Co/“skill+hub”/skillhub-mcp",
    "args": ["--cwd", "/a?b=c#d"],
    "env": {"LOG_LEVEL": "ERROR"},
}


def install_link(client: str, server: Server, *, name: str = "skillhub") -> str:
    return entries.install_link(client_named(client), server, name=name)


def by_parameters(link: str) -> tuple[str, Any]:
    parameters = parse_qs(urlsplit(link).query, strict_parsing=True)
    return parameters["name"][0], json.loads(base64.b64decode(parameters["config"][0], validate=True))


@pytest.mark.parametrize(
    ("client", "start"),
    [("cursor", "cursor://anysphere.cursor-deeplink/mcp/install?name="), ("lm-studio", "lmstudio://add_mcp?name=")],
)
def test_a_link_with_parameters_contains_the_name_and_the_entry(client: str, start: str) -> None:
    link = install_link(client, SERVER, name="our hub")
    assert link.startswith(start)
    assert by_parameters(link) == ("our hub", ENTRY)


@pytest.mark.parametrize("client", ["vscode", "vscode-insiders"])
def test_a_vs_code_link_contains_the_entry_with_its_name(client: str) -> None:
    scheme, _, rest = install_link(client, SERVER, name="our hub").partition(":")
    place, _, written = rest.partition("?")
    assert (scheme, place) == (client, "mcp/install")
    assert json.loads(unquote(written)) == {"name": "our hub", "type": "stdio", **ENTRY}


def test_a_link_to_an_http_server_contains_its_url() -> None:
    server = HttpServer("https://skills.example.com/mcp?team=a&b")
    assert by_parameters(install_link("cursor", server)) == ("skillhub", {"url": server.url})
    written = unquote(install_link("vscode", server).partition("?")[2])
    assert json.loads(written) == {"name": "skillhub", "type": "http", "url": server.url}


@pytest.mark.parametrize("client", LINKED)
def test_a_link_is_ascii_without_spaces_and_quotes(client: str) -> None:
    link = install_link(client, SERVER)
    assert link.isascii()
    assert not set(link) & set(" \"'<>`\\")


def test_a_secret_is_never_in_a_link() -> None:
    with pytest.raises(InvalidArgument, match="OPENAI_API_KEY"):
        install_link("lm-studio", StdioServer("x", variables=("OPENAI_API_KEY",)))
    assert by_parameters(install_link("cursor", StdioServer("x", variables=("TOKEN",))))[1]["env"] == {
        "TOKEN": "${env:TOKEN}"
    }
