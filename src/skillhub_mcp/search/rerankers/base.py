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
    """The best hits as rerankers see them: their scores as shares of the best, their names and descriptions.

    Each has one item per hit.
    """

    shares: NDArray[Any]
    names: Sequence[str]
    descriptions: Sequence[str]


class Reranker(Protocol):
    """Scores contenders."""

    def rerank(self, query: str, contenders: Contenders) -> list[float]:
        """Return one number of at least 0 per contender, in their order; more is better. Raises RerankingError.

        The order of the contenders does not change their numbers.
        """
