"""Decide whether a connection may be started to see if it answers.

Entries of the user's own files are started: the client starts them each time. A project's files may come from anybody,
so `skillhub doctor` starts only what cannot be more than an installed SkillHub.
"""

from __future__ import annotations

import os
import shutil
import sys
from urllib.parse import urlsplit

from skillhub_mcp.clients.connections import Connection
from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import ClientScope, HttpServer, StdioServer
from skillhub_mcp.clients.ownership import COMMANDS

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def why_not_started(connection: Connection, machine: Machine) -> str:
    """Return why a connection is not started; empty where it may be."""
    server = connection.server
    if connection.is_off:
        return f"{connection.client.title} has it switched off"
    if server is None:
        return ""
    if isinstance(server, StdioServer) and not connection.is_ours:
        return "it starts something else than SkillHub"
    if connection.scope is ClientScope.USER or connection.was_written_here:
        return ""
    if isinstance(server, HttpServer):
        nearby = urlsplit(server.url).hostname in _LOOPBACK and not server.token_variable
        return "" if nearby else "a project's file sends it to another machine, or sends it a token"
    is_own = os.path.isabs(server.command) and _is_below(server.command, sys.prefix)
    plain = server.command in COMMANDS and not (server.arguments or server.environment or server.variables)
    if not plain and not (is_own and server == StdioServer(server.command)):
        return "a project's file says more than to start SkillHub"
    found = shutil.which(server.command, path=machine.environment.get("PATH", ""))
    if found is not None and _is_below(found, machine.project) and not _is_below(found, sys.prefix):
        return "its command is the project's own"
    return ""


def _is_below(path: str, directory: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(directory)
    return real == top or real.startswith(os.path.join(top, ""))
