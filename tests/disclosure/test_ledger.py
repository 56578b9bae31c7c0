"""The ledger of a session."""

from __future__ import annotations

import threading

import pytest

from skillhub_mcp.disclosure.catalogue import estimate_tokens
from skillhub_mcp.disclosure.ledger import Ledger, Piece, Shown
from skillhub_mcp.errors import InvalidArgument


def test_repeated_entries_add_up_with_the_last_version() -> None:
    ledger = Ledger()
    ledger.record("skill", "pdf", "/s/pdf", "word " * 40, mtime_ms=1.0)
    ledger.record("file", "pdf/a.md", "/s/pdf/a.md", "text")
    shown = ledger.record("skill", "pdf", "/s/pdf", "word " * 20, mtime_ms=2.0)
    assert (shown.times, shown.tokens, shown.mtime_ms, shown.number) == (2, estimate_tokens("word " * 60), 2.0, 3)
    assert ledger.last("skill", "/s/pdf") == shown
    assert ledger.last("file", "/s/pdf") is None
    assert [one.name for one in ledger.entries()] == ["pdf/a.md", "pdf"]


def test_parts_of_one_version_add_up_to_the_whole() -> None:
    ledger = Ledger()

    def show(part: int, parts: int, mtime_ms: float = 1.0) -> Shown:
        text = f"part {part}\nand more"
        return ledger.record("skill", "a", "a", text, mtime_ms=mtime_ms, piece=Piece(part - 1, part, parts))

    shown = [show(1, 3), show(2, 3), show(2, 3), show(3, 3)]
    assert [one.is_complete for one in shown] == [False, False, False, True]
    assert [one.opening for one in shown] == ["part 1"] * 4
    # A complete entry stays complete.
    assert show(1, 3).is_complete
    assert show(2, 5).is_complete
    assert not show(2, 3, mtime_ms=2.0).is_complete
    assert not show(1, 2, mtime_ms=2.0).is_complete
    assert show(2, 2, mtime_ms=2.0).is_complete
    whole = ledger.record("skill", "a", "a", "all of it", mtime_ms=3.0)
    assert (whole.is_complete, whole.opening) == (True, "all of it")


def test_pieces_of_two_versions_do_not_add_up() -> None:
    ledger = Ledger()

    def show(start: int, digest: str) -> Shown:
        return ledger.record("file", "a", "a", "x", piece=Piece(start, start + 1, 2), digest=digest)

    show(0, "one")
    ledger.check_goes_on("file", "a", "one", argument="offset", first=0)
    with pytest.raises(InvalidArgument, match="offset goes on with a text that has changed"):
        ledger.check_goes_on("file", "a", "two", argument="offset", first=0)
    # Without an earlier entry or digest, nothing is compared.
    ledger.check_goes_on("file", "b", "two", argument="offset", first=0)
    ledger.check_goes_on("file", "a", "", argument="offset", first=0)
    assert not show(1, "two").is_complete
    assert not show(0, "two").is_complete
    assert show(1, "two").is_complete


def test_a_ledger_is_bounded() -> None:
    ledger = Ledger()
    for number in range(5_000):
        ledger.record("file", "x", str(number), "")
    assert len(ledger.entries()) == 4_096
    assert ledger.last("file", "0") is None
    assert ledger.last("file", "4999") is not None


def test_threads_lose_no_entries() -> None:
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
