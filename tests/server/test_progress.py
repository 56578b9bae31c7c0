"""Progress: a client that gave a token gets notifications, with increasing values and messages; others get none."""

from __future__ import annotations

import asyncio
import os
from itertools import pairwise
from pathlib import Path

import pytest
from filelock import FileLock
from tests.conftest import SkillWriter
from tests.server.connections import RUN, reached, two_ways, ways

from skillhub_mcp.index.writer import LOCK_FILE

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@pytest.fixture
def environment(hub_environment: Environment, write_skill: SkillWriter) -> Environment:
    write_skill("pdf-reader", "Reads PDF files.")
    Path(hub_environment["DB_PATH"]).parent.mkdir()
    return {
        **hub_environment,
        "SKILLHUB_TOOLS": "core,registry",
        # The command waits at a pipe, which a sandboxed one cannot reach.
        "SKILLHUB_SANDBOX": "off",
        **RUN,
    }


class Heard:
    """The progress notifications of one call. `then` is called after a given number of them."""

    def __init__(self, times: int = 0, then: object = None) -> None:
        self._times, self._then = times, then
        self.reports: list[tuple[float, float | None, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append((progress, total, message))
        if len(self.reports) == self._times and callable(self._then):
            await asyncio.to_thread(self._then)

    def is_ever_further(self) -> bool:
        return all(before[0] < after[0] for before, after in pairwise(self.reports)) and all(
            total is not None and done <= total and message for done, total, message in self.reports
        )


@ways
async def test_a_search_waiting_for_the_first_index_reports_progress(
    way: tuple[str, str], environment: Environment
) -> None:
    # The test holds the lock that writing the index needs.
    lock = FileLock(Path(environment["DB_PATH"]).parent / LOCK_FILE, thread_local=False)
    heard = Heard(1, lock.release)

    with lock:
        async with reached(way, environment) as hub:
            found = await hub.client.call_tool("search_skills", {"query": "PDF"}, progress_callback=heard)
            assert not found.is_error
            assert str(heard.reports[0][2]).startswith("Reading the skills")
            assert heard.is_ever_further()

            again = Heard()
            await hub.client.call_tool("search_skills", {"query": "PDF"}, progress_callback=again)
            assert again.reports == []


@two_ways
async def test_a_running_command_reports_its_time(
    way: tuple[str, str], environment: Environment, tmp_path: Path
) -> None:
    waiting = tmp_path / "waiting"
    os.mkfifo(waiting)
    # The command ends with its input.
    heard = Heard(2, lambda: waiting.write_text("", encoding="utf-8"))

    async with reached(way, environment) as hub:
        call = {"skill_name": "pdf-reader", "command": "cat", "args": [str(waiting)]}
        ran = await hub.client.call_tool("run_skill_command", call, progress_callback=heard)
        assert not ran.is_error
    assert heard.is_ever_further()
    assert [message for _, _, message in heard.reports[:2]] == [
        "cat has been started",
        "cat has been running for 1 of at most 60 seconds",
    ]
