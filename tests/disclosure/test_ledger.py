"""The ledger of a session: each thing that was shown once, with the tokens of all times together."""

from __future__ import annotations

import threading

from skillhub_mcp.disclosure.ledger import Ledger
from skillhub_mcp.disclosure.token_estimate import estimate_tokens


def test_showings_of_one_thing_add_up_and_the_last_version_counts() -> None:
    ledger = Ledger()
    ledger.record("skill", "pdf", "/s/pdf", "word " * 40, mtime_ms=1.0)
    ledger.record("file", "pdf/a.md", "/s/pdf/a.md", "text")
    shown = ledger.record("skill", "pdf", "/s/pdf", "word " * 20, mtime_ms=2.0)
    assert (shown.times, shown.tokens, shown.mtime_ms, shown.number) == (2, estimate_tokens("word " * 60), 2.0, 3)
    assert ledger.last("skill", "/s/pdf") == shown
    assert ledger.last("file", "/s/pdf") is None
    assert [one.name for one in ledger.entries()] == ["pdf/a.md", "pdf"]


def test_a_session_without_end_does_not_grow_without_end() -> None:
    ledger = Ledger()
    for number in range(5_000):
        ledger.record("file", "x", str(number), "")
    assert len(ledger.entries()) == 4_096
    assert ledger.last("file", "0") is None
    assert ledger.last("file", "4999") is not None


def test_threads_lose_nothing() -> None:
    ledger = Ledger()

    def show() -> None:
        for _ in range(200):
            ledger.record("skill", "a", "a", "four")

    threads = [threading.Thread(target=show) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (shown,) = ledger.entries()
    assert (shown.times, shown.tokens) == (1_600, 1_600)
