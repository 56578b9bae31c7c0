"""Who waits for an index hears how far it is, while it waits and no longer."""

from __future__ import annotations

import pytest

from skillhub_mcp.index.progress import IndexProgress, ProgressStep


def test_each_step_is_told_to_all_who_listen_and_to_the_one_that_asked_at_first() -> None:
    told: list[tuple[str, int, int]] = []
    heard: list[ProgressStep | None] = []
    steps = IndexProgress(lambda *step: told.append(step))
    steps.tell("embedding", 0, 2)
    with steps.heard(lambda: heard.append(steps.latest)):
        steps.tell("indexing", 1, 2)
        with steps.heard(lambda: heard.append(None)):
            steps.tell("indexing", 2, 2)
        steps.over()
    steps.tell("indexing", 0, 1)
    assert told == [("embedding", 0, 2), ("indexing", 1, 2), ("indexing", 2, 2), ("indexing", 0, 1)]
    assert heard == [ProgressStep("indexing", 1, 2), ProgressStep("indexing", 2, 2), None, None]
    assert steps.listeners == 0


def test_whoever_fails_while_listening_listens_no_longer() -> None:
    steps = IndexProgress()
    with pytest.raises(KeyError), steps.heard(lambda: None):
        raise KeyError
    assert steps.listeners == 0
