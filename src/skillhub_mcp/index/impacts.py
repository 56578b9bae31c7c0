"""What an occurrence of a term is worth to a skill: BM25F, but for how rare the term is. Pure.

BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields (CIKM 2004). The numbers of
`WEIGHTS` are the only ones there are: postings are stored with the impacts that they give, and made again when they
change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

ALL_FIELDS = frozenset(FIELDS)


@dataclass(frozen=True)
class FieldWeights:
    """The weight of a term in each field, how strongly the length of the field is normalised (0..1), `k1` and `power`.

    A higher `k1` lets a term that occurs more often count for more, a lower `power` lets it count for less beside
    another term: with 1 one word that a skill has all over makes up for two that it has not.
    """

    fields: Mapping[str, float] = field(
        default_factory=lambda: {"name": 8.0, "description": 6.0, "tags": 4.0, "category": 2.0, "body": 1.0}
    )
    normalised: Mapping[str, float] = field(
        default_factory=lambda: {"name": 0.3, "description": 0.4, "tags": 0.3, "category": 0.0, "body": 0.9}
    )
    k1: float = 8.0
    power: float = 0.8

    @property
    def largest(self) -> float:
        """What no impact is larger than."""
        return self.k1 + 1.0

    def __str__(self) -> str:
        """Return the numbers as text, by which those of another release are told."""
        return " ".join(
            [*(f"{self.fields[name]:g}/{self.normalised[name]:g}" for name in FIELDS), f"{self.k1:g}^{self.power:g}"]
        )


WEIGHTS = FieldWeights()


def impact(
    counts: NDArray[Any],
    lengths: NDArray[Any],
    mean_lengths: Sequence[float],
    *,
    fields: frozenset[str] = ALL_FIELDS,
) -> NDArray[Any]:
    """Return what each occurrence of a term is worth to its skill, from 0 to `WEIGHTS.largest`: shape (n,), float32.

    `counts` are the occurrences by field, shape (fields, n); `lengths` those of the skill's fields in terms, shape
    (n, fields), and `mean_lengths` the mean of each. Only `fields` count. More occurrences are never worth less.
    """
    import numpy as np

    frequency = np.zeros(counts.shape[1], dtype=np.float32)
    for number, name in enumerate(FIELDS):
        if name in fields:
            share = WEIGHTS.normalised[name]
            norm = (1.0 - share) + (share / mean_lengths[number]) * lengths[:, number].astype(np.float32)
            frequency += np.float32(WEIGHTS.fields[name]) * counts[number] / np.maximum(norm, np.float32(1e-6))
    saturated = frequency / (np.float32(WEIGHTS.k1) + frequency)
    worth: NDArray[Any] = np.float32(WEIGHTS.largest) * saturated ** np.float32(WEIGHTS.power)
    return worth
