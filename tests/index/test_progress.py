"""Progress of indexing: listeners are called while they listen and no longer."""

from __future__ import annotations

import pytest

from skillhub_mcp.index.progress import IndexProgress


def test_each_step_is_reported_to_every_listener_and_to_the_callback() -> None:
    reported: list[tuple[str, int, int]] = []
    notified: list[tuple[str, int, int] | None] = []
    progress = IndexProgress(lambda *step: reported.append(step))
    progress.report("embedding", 0, 2)
    with progress.listen(lambda: notified.append(progress.latest)):
        progress.report("indexing", 1, 2)
        with progress.listen(lambda: notified.append(None)):
            progress.report("indexing", 2, 2)
        progress.finish()
    progress.report("indexing", 0, 1)
    assert reported == [("embedding", 0, 2), ("indexing", 1, 2), ("indexing", 2, 2), ("indexing", 0, 1)]
    assert notified == [("indexing", 1, 2), ("indexing", 2, 2), None, None]


def test_a_listener_is_removed_when_its_block_fails() -> None:
    progress = IndexProgress()
    notified: list[None] = []
    with pytest.raises(KeyError), progress.listen(lambda: notified.append(None)):
        raise KeyError
    progress.report("indexing", 0, 1)
    assert notified == []
