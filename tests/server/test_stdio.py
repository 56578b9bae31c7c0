"""A server over stdio ends on a signal: if its client reads no answers, and while it asks its user."""

from __future__ import annotations

import signal
import subprocess
import sys
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


def test_a_server_ends_even_if_its_client_reads_no_answer(
    hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
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
    client.process.terminate()
    # After the grace period, since nothing else can end it.
    assert client.process.wait(timeout=60) == 128 + signal.SIGTERM
    client.process.stderr.close()
    client.close()


def test_an_open_question_does_not_keep_a_server_from_ending(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("alpha")
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {"others": "confirm"}}', encoding="utf-8")
    can_ask: dict[str, Any] = {**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"elicitation": {}}}}
    client = RawClient({**hub_environment, **own_rules(rules)})
    client.answer(can_ask)
    client.send(INITIALIZED)
    client.send(tool_call(2, "load_skill", skill_name="alpha"))
    client.received(lambda message: message.get("method") == "elicitation/create")
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(timeout=60) == 0
    client.close()
