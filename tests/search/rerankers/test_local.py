"""The reranker over a cross-encoder, with tiny models that the tests write and the real runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.onnx_models import cross_encoder, encoder, endless

from skillhub_mcp.errors import RerankingError
from skillhub_mcp.search.rerankers.local import LocalReranker

SKILLS = (("bread", "bake bread oven"), ("walrus", "feed walrus fish"), ("seal", "feed seal"))


@pytest.mark.parametrize("labels", [1, 2])
def test_a_closer_description_has_better_odds(tmp_path: Path, labels: int) -> None:
    bread, walrus, seal = LocalReranker(str(cross_encoder(tmp_path, labels=labels))).rerank("feed walrus", SKILLS)
    assert 0.0 < bread < seal < walrus < 1.0


def test_long_queries_and_descriptions_are_cut(tmp_path: Path) -> None:
    reranker = LocalReranker(str(cross_encoder(tmp_path)))
    odds = reranker.rerank("walrus \ud800 \0" * 20_000, [(name, text * 5_000) for name, text in SKILLS])
    assert len(odds) == 3
    assert all(0.0 <= one <= 1.0 for one in odds)


def test_a_hanging_model_times_out(tmp_path: Path) -> None:
    reranker = LocalReranker(str(endless(tmp_path)), seconds=0.3)
    with pytest.raises(RerankingError, match="did not answer in time"):
        reranker.rerank("feed", SKILLS)


UNUSABLE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "no directory": (lambda path: path / "none", "is not there"),
    "a sentence encoder": (encoder, r"last_hidden_state \[3, \d+, 16\]"),
    "a pooled encoder": (lambda path: encoder(path, output="sentence_embedding"), r"sentence_embedding \[3, 16\]"),
    "three labels": (lambda path: cross_encoder(path, labels=3), r"logits \[3, 3\]"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_model_is_reported_with_cause_and_fix(tmp_path: Path, case: str) -> None:
    write, cause = UNUSABLE[case]
    with pytest.raises(RerankingError, match=cause) as caught:
        LocalReranker(str(write(tmp_path))).rerank("feed", SKILLS)
    assert f"{tmp_path}" in caught.value.message
    assert "SEARCH_RERANK_MODEL" in caught.value.message
    assert "SEARCH_RERANK=0" in (caught.value.hint or "")
