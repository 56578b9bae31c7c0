"""What a balancer is told at /readyz, and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.connections import listening

from skillhub_mcp.server.http import readiness
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.snapshot import Snapshot


@pytest.mark.slow
def test_a_probe_is_told_that_searches_are_answered_while_the_digest_is_still_made(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one")
    may_end, making, facts_of = threading.Event(), list[int](), Snapshot._facts_of

    def slowly(snapshot: Snapshot, skills: Iterable[Skill]) -> Iterator[str]:
        making.append(1)
        assert may_end.wait(60)
        return facts_of(snapshot, skills)

    monkeypatch.setattr(Snapshot, "_facts_of", slowly)
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
