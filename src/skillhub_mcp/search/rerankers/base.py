"""What a reranker promises, and the values it deals in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Contender(NamedTuple):
    """A candidate as rerankers see it: what it is called and for, and the parts of its score, each in 0..1.

    `words` is its share of the best candidate's BM25F; `meaning` how near its vector is among the candidates'; `phrase`
    the share of the query's pairs of words that stand side by side in it.
    """

    name: str
    description: str
    words: float
    meaning: float
    phrase: float


class Reranker(Protocol):
    """Says what each contender counts."""

    def rerank(self, query: str, contenders: Sequence[Contender]) -> list[float]:
        """Return one number of at least 0 a contender, in their order; more is better. Raises RerankingError.

        In whatever order the contenders are given, each gets the same number.
        """
