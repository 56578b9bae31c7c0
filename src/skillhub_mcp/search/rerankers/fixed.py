"""The default reranker: a weighted sum of the parts of a score, set by hand and small enough to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillhub_mcp.search.rerankers.base import Contenders


@dataclass(frozen=True, slots=True)
class FixedWeights:
    """What each part counts, beside the words' 1. Weighted sums beat the fusing of ranks: docs/benchmarks.md."""

    meaning: float = 0.2
    phrase: float = 0.1

    def rerank(self, query: str, contenders: Contenders) -> list[float]:
        """Return the weighted sums: 1 and a little more for the best. Looks at no text."""
        del query
        total = contenders.words + self.meaning * contenders.meaning + self.phrase * contenders.phrase
        totals: list[float] = total.tolist()
        return totals


WITH_WORD_VECTORS = FixedWeights()
# A provider's model knows more of meaning than word vectors do.
WITH_A_PROVIDER = FixedWeights(meaning=0.5)
