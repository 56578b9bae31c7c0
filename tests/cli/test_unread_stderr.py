"""A server whose stderr nobody reads answers and ends; where somebody reads, all arrives in order."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.conftest import SkillWriter
from tests.server.connections import Caller
from tests.server.sessions import COMMAND
from tests.server.test_transports import INITIALIZE, INITIALIZED, RawClient, tool_call

if sys.platform != "linux":
    pytest.skip("the size of a pipe is set as Linux does", allow_module_level=True)

import fcntl

pytestmark = pytest.mark.slow

# Each load writes a line of a hundred bytes: many times what the pipe takes.
_PIPE_BYTES = 4_096
_LOADS = 1_000

PROGRAM = """
import logging, sys, threading, time, warnings
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import prepare_streams, print_note
prepare_streams()
log_to_stderr("INFO", serving=True)
log = logging.getLogger("skillhub_mcp.test")
"""


@contextmanager
def small_pipe() -> Iterator[tuple[IO[str], int]]:
    """What reads a pipe of one page, and the descriptor that writes to it, which whoever starts a process closes."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    with os.fdopen(ours, encoding="utf-8") as reader:
        yield reader, theirs


@contextmanager
def program(body: str, stderr: int) -> Iterator[subprocess.Popen[bytes]]:
    """A serving process that does only what `body` says; it is killed in the end, if it is still there."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + body], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
    ) as process:
        os.close(stderr)
        try:
            yield process
        finally:
            process.kill()


def seconds_of(end: Callable[[], object], process: subprocess.Popen[bytes]) -> float:
    """How long a process takes that is told to end."""
    began = time.monotonic()
    end()
    process.wait(timeout=30)
    return time.monotonic() - began


@pytest.mark.parametrize("by", ["SIGTERM", "end of stdin"])
def test_a_server_over_stdio_whose_stderr_nobody_reads_answers_and_ends(
    by: str, hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("alpha")
    with small_pipe() as (_, stderr):
        client = RawClient(hub_environment, stderr=stderr)
        os.close(stderr)
        hung = threading.Timer(60, client.process.kill)
        hung.start()
        client.answer(INITIALIZE)
        client.send(INITIALIZED)
        for number in range(2, _LOADS):
            assert not client.answer(tool_call(number, "load_skill", skill_name="alpha"))["result"].get("isError")
        assert client.process.stdin is not None
        end = client.process.terminate if by == "SIGTERM" else client.process.stdin.close
        assert seconds_of(end, client.process) < 5
        hung.cancel()
        assert client.close() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_over_http_whose_stderr_nobody_reads_answers_and_ends(
    workers: str, hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    async def load(url: str) -> None:
        async with mcp.Client(streamable_http_client(url)) as client:
            hub = Caller(client)
            for _ in range(_LOADS // 5):
                assert (await hub.call("load_skill", skill_name="alpha")).code is None

    write_skill("alpha")
    with small_pipe() as (reader, stderr):
        arguments = ["--transport", "http", "--port", "0", "--workers", workers]
        process = subprocess.Popen([*COMMAND, *arguments], env=hub_environment, stderr=stderr)
        os.close(stderr)
        try:
            told = next(found for line in reader if (found := re.search(r"Serving MCP at (\S+)", line)))
            asyncio.run(asyncio.wait_for(load(told[1]), 60))
            assert seconds_of(process.terminate, process) < 5
        finally:
            process.kill()
    assert process.returncode == 0


def test_all_that_is_written_arrives_in_order_also_what_is_written_at_the_end() -> None:
    body = """
for number in range(3_000):
    log.info("line %d", number)
print_note("a note")
warnings.warn("a warning", stacklevel=1)
def fail(): raise ValueError("in a thread")
failing = threading.Thread(target=fail)
failing.start()
failing.join()
log.info("é\\ud800")
sys.stderr.write("half a ")
print("line", file=sys.stderr)
raise SystemExit("the last")
"""
    with small_pipe() as (reader, stderr), program(body, stderr) as process:
        said = reader.read().splitlines()
        assert process.wait(timeout=30) == 1
    assert said[:3_000] == [f"INFO skillhub_mcp.test: line {number}" for number in range(3_000)]
    rest = said[3_000:]
    assert rest[0] == "a note"
    assert any("UserWarning: a warning" in line for line in rest)
    assert "ValueError: in a thread" in rest
    assert rest[-3:] == ["INFO skillhub_mcp.test: é\\ud800", "half a line", "the last"]


def test_what_has_no_room_is_counted_and_told_where_it_is_missing() -> None:
    body = """
for number in range(50_000):
    log.info("line %d", number)
print("all", flush=True)
sys.stdin.readline()
log.info("afterwards")
"""
    with small_pipe() as (reader, stderr), program(body, stderr) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"all\n"
        said: list[str] = []
        for line in reader:
            said.append(line)
            if "dropped" in line:
                process.stdin.close()
        assert process.wait(timeout=30) == 0
    *lines, told, afterwards = said
    assert lines == [f"INFO skillhub_mcp.test: line {number}\n" for number in range(len(lines))]
    assert told.startswith(f"ERROR skillhub_mcp.cli.unread_stderr: {50_000 - len(lines)} lines of the log were dropped")
    assert afterwards == "INFO skillhub_mcp.test: afterwards\n"
    # A mebibyte waited.
    assert 20_000 < len(lines) < 40_000


def test_a_stderr_that_nobody_has_open_any_more_stops_nothing() -> None:
    body = """
for number in range(100):
    log.info("line %d", number)
"""
    with small_pipe() as (reader, stderr):
        reader.close()
        with program(body, stderr) as process:
            assert process.wait(timeout=30) == 0


def test_a_process_ends_within_seconds_also_where_something_writes_while_it_does() -> None:
    body = """
import atexit
atexit.register(lambda: log.info("x" * 10_000))
for number in range(1_000):
    log.info("line %d", number)
sys.stdin.readline()
class Late:
    def __del__(self): raise ValueError("x" * 10_000)
late = Late()
sys.exit("x" * 10_000)
"""
    with small_pipe() as (_, stderr), program(body, stderr) as process:
        assert process.stdin is not None
        assert seconds_of(process.stdin.close, process) < 5
    assert process.returncode == 1
