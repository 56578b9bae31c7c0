"""A server process, for tests of its end."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hubs import arguments_from
from tests.server.sessions import COMMAND


@dataclass
class Process:
    """A server process that listens at `url`. `said` has all of its stderr once it has ended."""

    process: subprocess.Popen[str]
    url: str
    said: list[str] = field(default_factory=list)

    def ended(self) -> int:
        """Wait for its end and return its code."""
        return self.process.wait(timeout=120)

    @property
    def children(self) -> list[int]:
        """The worker processes of this server."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [pid for pid in map(int, told.split()) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@contextmanager
def serving(environment: Mapping[str, str], *arguments: str, command: Sequence[str] = COMMAND) -> Iterator[Process]:
    """A server process that `command` starts; it is killed at the end if still running."""
    process = subprocess.Popen(
        [*command, "--transport", "http", "--port", "0", *arguments_from(environment), *arguments],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    server = Process(process, "")
    hearing = threading.Thread(target=server.said.extend, args=(process.stderr,))
    try:
        while not server.url:
            line = process.stderr.readline()
            assert line, "".join(server.said)
            server.said.append(line)
            found = re.search(r"Serving MCP at (\S+)", line)
            server.url = found[1] if found else ""
        hearing.start()
        yield server
        # Read the output of its children to the end too.
        process.wait(timeout=120)
        hearing.join()
    finally:
        process.kill()
        process.wait()
        if hearing.is_alive():
            hearing.join()
        process.stderr.close()
