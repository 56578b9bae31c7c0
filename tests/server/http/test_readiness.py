"""What a balancer is told at /readyz, and when."""

from __future__ import annotations

import threading
import time
from functools import cached_property

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.connections import listening

from skillhub_mcp.server.http import readiness
from skillhub_mcp.skills import snapshot


@pytest.mark.slow
def test_a_probe_is_told_that_searches_are_answered_while_the_digest_is_still_made(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    may_end, making, digest = threading.Event(), list[int](), vars(snapshot.Snapshot)["digest"]

    def slowly(made: snapshot.Snapshot) -> str:
        making.append(1)
        assert may_end.wait(60)
        return str(digest.func(made))

    slow = cached_property(slowly)
    slow.__set_name__(snapshot.Snapshot, "digest")
    monkeypatch.setattr(snapshot.Snapshot, "digest", slow)
    monkeypatch.setattr(readiness, "_PATIENCE_SECONDS", 0.05)
    with listening(hub_environment) as url:
        probe = url.replace("/mcp", "/readyz")
        while httpx2.get(probe, timeout=30).status_code != 200:
            time.sleep(0.02)
        found = [httpx2.get(probe, timeout=30) for _ in range(3)]
        assert [(one.status_code, one.json()) for one in found] == [(200, {"index": "ready"})] * 3
        assert len(making) == 1
        may_end.set()
        while "digest" not in (last := httpx2.get(probe, timeout=30).json()):
            time.sleep(0.02)
        assert last["skills"] == 1
