"""What a reranker promises, and the values it deals in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Contenders:
    """Candidates as rerankers see them: the parts of their scores, each in 0..1, and what they are called and for.

    `words` is the share of the best candidate's BM25F; `meaning` how near the vector is among the candidates'; `phrase`
    the share of the query's pairs of words that stand side by side. `names` and `descriptions` are left out where no
    reranker reads them. Each has a place for every candidate.
    """

    words: NDArray[Any]
    meaning: NDArray[Any]
    phrase: NDArray[Any]
    names: Sequence[str] = ()
    descriptions: Sequence[str] = ()


class Reranker(Protocol):
    """Says what each contender counts."""

    def rerank(self, query: str, contenders: Contenders) -> list[float]:
        """Return one number of at least 0 a contender, in their order; more is better. Raises RerankingError.

        In whatever order the contenders are given, each gets the same number.
        """
