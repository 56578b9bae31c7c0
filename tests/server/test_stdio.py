"""A server over stdio ends with its client: after it left, reads no answers, or asks its user."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter, own_rules
from tests.server.test_transports import INITIALIZE, INITIALIZED, RawClient, tool_call

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="no signal and no pipe wakes a server there"),
    pytest.mark.slow,
]

# Many times the capacity of a pipe.
_BODY = "x" * 30_000
_CALLS = 30
_CAN_ASK: dict[str, Any] = {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"elicitation": {}}}}


@pytest.fixture
def full(hub_environment: dict[str, str], write_skill: SkillWriter) -> Iterator[RawClient]:
    """A client that has read no answers, so that the server cannot write any more."""
    write_skill("alpha", body=_BODY)
    client = RawClient(hub_environment, stderr=subprocess.PIPE)
    client.answer(INITIALIZE)
    client.send(INITIALIZED)
    for number in range(2, 2 + _CALLS):
        client.send(tool_call(number, "load_skill", skill_name="alpha"))
    assert client.process.stderr is not None
    for _ in range(_CALLS):
        while b"load skill=" not in client.process.stderr.readline():
            pass
    try:
        yield client
    finally:
        client.process.kill()
        client.process.stderr.close()
        client.close()


@pytest.mark.parametrize("by", ["end of stdin", "SIGTERM"])
def test_a_server_ends_even_if_its_client_reads_no_answer(full: RawClient, by: str) -> None:
    assert full.process.stdin is not None
    if by == "SIGTERM":
        full.process.terminate()
    else:
        full.process.stdin.close()
    full.process.wait(timeout=30)


@pytest.mark.parametrize("by", ["end of stdin", "SIGTERM"])
def test_an_open_question_does_not_keep_a_server_from_ending(
    by: str, hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("alpha")
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {"others": "confirm"}}', encoding="utf-8")
    client = RawClient({**hub_environment, **own_rules(rules)})
    client.answer(_CAN_ASK)
    client.send(INITIALIZED)
    client.send(tool_call(2, "load_skill", skill_name="alpha"))
    client.received(lambda message: message.get("method") == "elicitation/create")
    if by == "SIGTERM":
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(timeout=20) == 0
    assert client.close() == 0
