"""The default reranker: a weighted sum of the components of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.search.rerankers.base import Contenders


@dataclass(frozen=True, slots=True)
class FixedWeights:
    """The weight of each component; text counts 1. A weighted sum beats rank fusion (docs/benchmarks.md)."""

    meaning: float = 0.2
    phrase: float = 0.1

    def rerank(self, query: str, contenders: Contenders) -> list[float]:
        """Return the weighted sums, from 0 to a little more than 1."""
        del query
        total = contenders.words + self.meaning * contenders.meaning + self.phrase * contenders.phrase
        totals: list[float] = total.tolist()
        return totals


WITH_WORD_VECTORS = FixedWeights()
# Embeddings of a provider's model capture more meaning than word vectors do.
WITH_A_PROVIDER = FixedWeights(meaning=0.5)
