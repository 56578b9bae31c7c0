"""Who waits for an index hears how far it is, while it waits and no longer."""

from __future__ import annotations

import pytest

from skillhub_mcp.index.progress import IndexProgress, ProgressStep


def test_each_step_is_told_to_all_who_listen_and_to_the_one_that_asked_at_first() -> None:
    told: list[tuple[str, int, int]] = []
    notified: list[ProgressStep | None] = []
    progress = IndexProgress(lambda *step: told.append(step))
    progress.report("embedding", 0, 2)
    with progress.listen(lambda: notified.append(progress.latest)):
        progress.report("indexing", 1, 2)
        with progress.listen(lambda: notified.append(None)):
            progress.report("indexing", 2, 2)
        progress.finish()
    progress.report("indexing", 0, 1)
    assert told == [("embedding", 0, 2), ("indexing", 1, 2), ("indexing", 2, 2), ("indexing", 0, 1)]
    assert notified == [ProgressStep("indexing", 1, 2), ProgressStep("indexing", 2, 2), None, None]
    assert progress.listener_count == 0


def test_whoever_fails_while_listening_listens_no_longer() -> None:
    progress = IndexProgress()
    with pytest.raises(KeyError), progress.listen(lambda: None):
        raise KeyError
    assert progress.listener_count == 0
