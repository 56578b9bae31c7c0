"""Start a server as its client would, and check that it answers `initialize` and `tools/list`."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import HttpServer, Server

if TYPE_CHECKING:
    from fastmcp.client.transports import ClientTransport

SECONDS = 30.0

# The PATH of a program started from a desktop.
_DESKTOP_PATH = {
    System.LINUX: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    System.MACOS: "/usr/bin:/bin:/usr/sbin:/sbin",
}
_DESKTOP_VARIABLES = (
    *("HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA", "USERPROFILE"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "PROGRAMDATA", "COMSPEC", "PATHEXT"),
)
_SHOWN_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Probed:
    """A server's name, version and tools, or the `failure`, one sentence."""

    server_name: str = ""
    version: str = ""
    tools: tuple[str, ...] = ()
    failure: str = ""

    @property
    def answers(self) -> bool:
        """Whether `initialize` and `tools/list` were answered."""
        return not self.failure


def environment_of(server: Server, machine: Machine, *, from_desktop: bool) -> dict[str, str]:
    """Return the environment in which a client starts a server; no shell has extended the PATH of a desktop program."""
    if not from_desktop or isinstance(server, HttpServer):
        return dict(machine.environment)
    names = (*_DESKTOP_VARIABLES, *server.variables)
    environment = {name: machine.environment[name] for name in names if name in machine.environment}
    path = _DESKTOP_PATH.get(machine.system)
    return environment | {"PATH": machine.environment.get("PATH", "") if path is None else path}


def probe(server: Server, *, environment: Mapping[str, str], cwd: str, seconds: float = SECONDS) -> Probed:
    """Start `server` as a client with this environment and working directory would, or reach it, and return its answer.

    A started process is ended.
    """
    if isinstance(server, HttpServer):
        return _reach(server, environment, seconds)
    program = shutil.which(server.command, path=environment.get("PATH", ""))
    if program is None:
        absolute = os.path.isabs(server.command)
        where = "cannot be executed" if absolute and os.path.exists(server.command) else "does not exist"
        return Probed(failure=f"{server.command} {where if absolute else 'is not on its PATH'}")
    from fastmcp.client.transports import StdioTransport

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        transport = StdioTransport(
            command=program,
            args=list(server.arguments),
            env={**environment, **server.environment},
            cwd=cwd,
            keep_alive=False,
            log_file=log,
        )
        probed = asyncio.run(_answer(transport, seconds))
        if probed.answers:
            return probed
        # The last line on stderr is usually the cause.
        log.seek(0)
        last = deque((line.strip() for line in log if line.strip()), maxlen=1)
    said = f"; its last line: {last[0][:_SHOWN_CHARACTERS]}" if last else ""
    return Probed(failure=probed.failure + said)


def _reach(server: HttpServer, environment: Mapping[str, str], seconds: float) -> Probed:
    import httpx2
    from fastmcp.client.transports import StreamableHttpTransport

    token = environment.get(server.token_variable, "") if server.token_variable else ""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    probed = asyncio.run(_answer(StreamableHttpTransport(server.url, headers=headers), seconds))
    if probed.answers:
        return probed
    try:
        # The MCP client does not say which status it got.
        status = httpx2.post(server.url, headers=headers, json={}, timeout=seconds).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return Probed(failure=f"nothing answers at {server}; is a server running there?")
    return Probed(failure=_refusal(server, status, has_token=bool(token)) or probed.failure)


def _refusal(server: HttpServer, status: int, *, has_token: bool) -> str:
    """Return the cause of an HTTP status, as a sentence; empty if unknown."""
    if status == HTTPStatus.NOT_FOUND:
        return f"nothing is served at {server}; the path of a SkillHub server is /mcp"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        if has_token:
            return f"{server} rejected the token in {server.token_variable}"
        if server.token_variable:
            return f"{server} needs a token, and {server.token_variable} is not set here"
        return f"{server} needs a token; `--token-variable NAME` names the variable that holds it"
    return f"{server} answered with the HTTP status {status}" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""


async def _answer(transport: ClientTransport, seconds: float) -> Probed:
    try:
        return await asyncio.wait_for(_ask(transport), seconds)
    except asyncio.TimeoutError:
        return Probed(failure=f"it did not answer within {seconds:g} seconds")
    except Exception as error:  # noqa: BLE001 - any failure of a foreign server is the answer
        return Probed(failure=_sentence(error))


async def _ask(transport: ClientTransport) -> Probed:
    from fastmcp import Client

    # Every client's handshake, also those from before the protocol of 2026.
    async with Client(transport, mode="legacy") as client:
        tools = await client.list_tools()
        info = client.server_info
        name, version = ("", "") if info is None else (info.name, info.version)
        return Probed(name, version, tuple(tool.name for tool in tools))


def _sentence(error: BaseException) -> str:
    """Return what went wrong; of a group of errors, the first."""
    while getattr(error, "exceptions", ()):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    said = " ".join(str(error).split()) or type(error).__name__
    return said[:_SHOWN_CHARACTERS]
