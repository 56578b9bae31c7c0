"""What is promised of a server over HTTP: its replies, its throughput, its memory, and what native hosts wait for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.wire import HttpConnection

_HERE = Path(__file__).parent
_LISTENING = re.compile(r"http://127\.0\.0\.1:(\d+)/mcp")
_TASKS = (
    "extract invoices with pandas",
    "review pull requests",
    "deploy containers with kubectl",
    "translate meeting notes",
    "draw charts with latex",
    "convert tables for spark",
    "profile queries in sqlite",
    "plan tests with pytest",
)


@contextmanager
def served(environment: Mapping[str, str], *options: str) -> Iterator[tuple[int, int]]:
    """Yield the port and the process of a server of ours."""
    command = [sys.executable, "-m", "skillhub_mcp", "--transport", "http", "--port", "0", *options]
    # One client asks as fast as it can: what a limit would answer is not what is measured.
    quiet = {**environment, "SKILLHUB_RATE_LIMIT": "0", "PYTHONUNBUFFERED": "1"}
    with _listening(command, quiet) as found:
        yield found


@contextmanager
def constant(reply: Mapping[str, object], environment: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Yield the port and the process of a bare FastMCP server whose one tool returns `reply`, whatever it is asked."""
    command = [sys.executable, str(_HERE / "constant_server.py"), json.dumps(reply)]
    with _listening(command, {**environment, "PYTHONUNBUFFERED": "1"}) as found:
        yield found


@contextmanager
def _listening(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    process = subprocess.Popen(list(command), env=dict(environment), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = _LISTENING.search(line)
            if found is not None:
                break
        else:
            raise RuntimeError("the server ended before it listened")
        # Its log is read on, or the server would wait for somebody to make room for the next line.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def reply_times(
    environment: Mapping[str, str], tasks: Sequence[str] = _TASKS, *, rounds: int = 60, pause: float = 0.0
) -> tuple[float, float, float]:
    """Return the median times in ms of a search and of the constant tool, asked in turn, and of their ratios.

    With a `pause`, so many seconds pass before each pair: agents think between two calls.
    """

    async def asked() -> tuple[float, float, float]:
        with served(environment) as (ours, _):
            async with HttpConnection(ours) as first:
                await _ready(first)
                reply = (await first.call("search_skills", {"query": _TASKS[0]}))["structuredContent"]
                with constant(reply, environment) as (theirs, _):
                    async with HttpConnection(theirs) as second:
                        return await _in_turn(first, second, tasks, rounds, pause)

    return asyncio.run(asked())


async def _in_turn(
    ours: HttpConnection, theirs: HttpConnection, tasks: Sequence[str], rounds: int, pause: float
) -> tuple[float, float, float]:
    pairs = []
    for number in range(rounds + 10):
        await asyncio.sleep(pause if number >= 10 else 0)
        task = {"query": tasks[number % len(tasks)]}
        pairs.append((await _timed(ours, task), await _timed(theirs, task)))
    counted = pairs[10:]
    return (
        statistics.median(a for a, _ in counted) * 1_000,
        statistics.median(b for _, b in counted) * 1_000,
        statistics.median(a / b for a, b in counted),
    )


async def _timed(connection: HttpConnection, task: Mapping[str, object]) -> float:
    began = time.perf_counter()
    await connection.call("search_skills", task)
    return time.perf_counter() - began


def load(environment: Mapping[str, str], *, clients: int, requests: int) -> tuple[float, float, float]:
    """Have `clients` ask at once, `requests` in all.

    Return requests a second, and the server's memory in MB after the first tenth and at the end.
    """

    async def asked() -> tuple[float, float, float]:
        with served(environment) as (port, process):
            async with HttpConnection(port) as first:
                await _ready(first)
            await _together(port, clients, requests // 10)
            before = resident_megabytes(process)
            began = time.perf_counter()
            await _together(port, clients, requests - requests // 10)
            return (requests - requests // 10) / (time.perf_counter() - began), before, resident_megabytes(process)

    return asyncio.run(asked())


async def _together(port: int, clients: int, requests: int) -> None:
    async def one(number: int) -> None:
        async with HttpConnection(port) as connection:
            for asked in range(requests // clients):
                task = _TASKS[(number + asked) % len(_TASKS)]
                if asked % 4 == 3:
                    await connection.call("load_skill", {"skill_name": f"skill-{(number * 31 + asked) % 1_000:06d}"})
                else:
                    await connection.call("search_skills", {"query": task})

    await asyncio.gather(*(one(number) for number in range(clients)))


async def _ready(connection: HttpConnection) -> None:
    for _ in range(600):
        answer = await connection.call("search_skills", {"query": _TASKS[0]})
        if answer.get("structuredContent", {}).get("skills"):
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("the server never had an index")


def resident_megabytes(process: int) -> float:
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def native_listing(environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the seconds that all pages of `skills/list` take from our server and from FastMCP's own provider."""
    return asyncio.run(_native_listing(environment))


async def _native_listing(environment: Mapping[str, str]) -> tuple[float, float]:
    from fastmcp import Client, FastMCP
    from fastmcp.skills.client import SkillsClientExtension
    from fastmcp.skills.provider import SkillsDirectoryProvider

    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.bootstrap.server import server_options
    from skillhub_mcp.server.app import make_server
    from skillhub_mcp.settings import read_settings

    settings, _ = read_settings(environment)
    hub = make_hub(settings)
    # A server that has begun: what is measured is the listing, not the import of LanceDB beside it.
    hub.refresh()
    ours = make_server(hub, server_options(settings, hub, over_http=True))
    theirs = FastMCP("peer", list_page_size=100)
    theirs.add_provider(SkillsDirectoryProvider(Path(environment["SKILLS_DIR"])))

    async def seconds(server: Any) -> tuple[float, int]:
        async with Client(server, extensions=[SkillsClientExtension()]) as client:
            began = time.perf_counter()
            listed = len(await client.list_skills(max_pages=1_000))
            return time.perf_counter() - began, listed

    taken, listed = await seconds(ours)
    their_taken, their_listed = await seconds(theirs)
    assert listed == their_listed, (listed, their_listed)
    return taken, their_taken
