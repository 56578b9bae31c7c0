"""The Reranker protocol and its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Contenders:
    """Candidates as rerankers see them: the components of their scores, each in 0..1, their names and descriptions.

    `words` is the share of the best BM25F score; `meaning` the scaled nearness of the vector; `phrase` the share of the
    query's pairs of words that are adjacent. `names` and `descriptions` are empty where no reranker reads them. Each
    has one item per candidate.
    """

    words: NDArray[Any]
    meaning: NDArray[Any]
    phrase: NDArray[Any]
    names: Sequence[str] = ()
    descriptions: Sequence[str] = ()


class Reranker(Protocol):
    """Scores contenders."""

    def rerank(self, query: str, contenders: Contenders) -> list[float]:
        """Return one number of at least 0 per contender, in their order; more is better. Raises RerankingError.

        The order of the contenders does not change their numbers.
        """
