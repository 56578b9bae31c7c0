"""Find the clients that are installed on this machine."""

from __future__ import annotations

import os
import shutil

from skillhub_mcp.clients.machine import Machine
from skillhub_mcp.clients.model import Client


def signs_of(client: Client, machine: Machine) -> tuple[str, ...]:
    """Return what shows that a client is installed: its files and directories, and its program on PATH."""
    found = [path for path in client.signs(machine) if os.path.exists(path)]
    programs = (shutil.which(program, path=machine.environment.get("PATH", "")) for program in client.programs)
    return (*found, *(program for program in programs if program is not None))
