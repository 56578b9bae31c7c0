"""How the storage does: each change is told once, and one that stands still is told from one that is slow."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import pytest

from skillhub_mcp.errors import PublicationDamaged, PublicationMissing, StorageUnavailable
from skillhub_mcp.replicas import health as health_module
from skillhub_mcp.replicas.health import Health, StorageState, in_short

AWAY = StorageUnavailable("s3://a-secret-place", "the connection failed")


def until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_failure_and_its_end_are_told_once_however_often_it_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    health = Health(clock=lambda: now[0])
    health.snapshot = "00000001-0123456789ab"
    with caplog.at_level(logging.INFO, "skillhub_mcp.replicas"):
        for state in (health.well, *[lambda: health.failed(AWAY)] * 3, *[health.well] * 3):
            health.asking()
            now[0] += 10
            state()
    served = "snapshot 00000001-0123456789ab is served from the mirror"
    assert [record.getMessage() for record in caplog.records] == [
        f"The storage of the publication fails, {served}: the connection failed",
        "The storage of the publication answers again, after 30 seconds",
    ]
    told = health.told()
    assert (told.storage, told.since, told.checked_at, told.problem) == (StorageState.OK, 150.0, 170.0, "")


@pytest.mark.slow
def test_what_does_not_answer_is_stalled_and_what_answers_bit_by_bit_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "STALLED_AFTER_SECONDS", 0.1)
    health = Health()
    health.asking()
    until(lambda: health.told().storage is StorageState.STALLED)
    assert health.is_bad
    health.well()
    health.asking()
    ended = threading.Event()
    states = set()
    for _ in range(30):
        health.answered()
        states.add(health.told().storage)
        ended.wait(0.01)
    assert states == {StorageState.OK}
    health.not_asking()
    ended.wait(0.2)
    assert health.told().storage is StorageState.OK
    health.close()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AWAY, "the connection failed"),
        (PublicationDamaged("s3://a-secret-place", "packs/ab", "is missing"), "packs/ab is missing"),
        (PublicationMissing("s3://a-secret-place"), "nothing is published there"),
        (
            PublicationMissing("s3://a-secret-place", "00000001-0123456789ab"),
            "there is no snapshot 00000001-0123456789ab",
        ),
    ],
)
def test_what_is_told_names_no_place(error: StorageUnavailable, told: str) -> None:
    assert in_short(error) == told
