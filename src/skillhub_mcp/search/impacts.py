"""What an occurrence of a term is worth to a skill: BM25F, but for how rare the term is. Pure.

BM25F: Robertson, Zaragoza and Taylor, Simple BM25 Extension to Multiple Weighted Fields (CIKM 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

ALL_FIELDS = frozenset(FIELDS)


# The weight of a term in each field, and how strongly the length of the field is normalised.
_WEIGHTS = {"name": 8.0, "description": 6.0, "tags": 4.0, "category": 2.0, "body": 1.0}
_NORMALISED = {"name": 0.3, "description": 0.4, "tags": 0.3, "category": 0.0, "body": 0.9}
# A higher `k1` lets a term that occurs more often count for more, a lower power lets it count for less beside another
# term: with 1 one word that a skill has all over makes up for two that it has not.
_K1, _POWER = 8.0, 0.8
# What no impact is larger than.
LARGEST_IMPACT = _K1 + 1.0


def impact(
    counts: NDArray[Any],
    lengths: NDArray[Any],
    mean_lengths: Sequence[float],
    *,
    fields: frozenset[str] = ALL_FIELDS,
) -> NDArray[Any]:
    """Return what each occurrence of a term is worth to its skill, from 0 to `LARGEST_IMPACT`: shape (n,), float32.

    `counts` are the occurrences by field, shape (fields, n); `lengths` those of the skill's fields in terms, shape
    (n, fields), and `mean_lengths` the mean of each. Only `fields` count. More occurrences are never worth less.
    """
    import numpy as np

    frequency = np.zeros(counts.shape[1], dtype=np.float32)
    for number, name in enumerate(FIELDS):
        if name in fields:
            share = _NORMALISED[name]
            norm = (1.0 - share) + (share / mean_lengths[number]) * lengths[:, number].astype(np.float32)
            frequency += np.float32(_WEIGHTS[name]) * counts[number] / np.maximum(norm, np.float32(1e-6))
    saturated = frequency / (np.float32(_K1) + frequency)
    worth: NDArray[Any] = np.float32(LARGEST_IMPACT) * saturated ** np.float32(_POWER)
    return worth
