"""What a cosine means with one model: measured on the library's own descriptions, since models differ. Pure.

Two texts that have nothing to do with each other have a cosine of 0.15 with one model and 0.75 with the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Each with each, these are 80,000 pairs: the quantiles of another sample differ by less than 0.01.
_SAMPLED = 400
# Of fewer skills there are too few pairs to say which is usual.
FEWEST_SKILLS = 8
# A pair as near as the nearest hundredth of all has one subject. Unlike the nearest neighbour of each skill, that does
# not depend on how many skills there are, nor on copies.
_NEAR_SHARE = 0.99
_SMALLEST_SPAN = 1e-3


@dataclass(frozen=True, slots=True)
class NearnessScale:
    """The usual cosine of two skills that have nothing in common (`far`), and of two with one subject (`near`)."""

    far: float
    near: float

    def share(self, cosines: NDArray[np.float32], *, least: float = 0.0) -> NDArray[np.float32]:
        """Return how near each cosine is: 0 at `far`, one half at `near`, 1 as far beyond it or farther; 0 for nan.

        What is farther than `far` has a share below 0, down to `least`.
        """
        import numpy as np

        shares = (cosines - self.far) / (2.0 * max(self.near - self.far, _SMALLEST_SPAN))
        clipped: NDArray[np.float32] = np.nan_to_num(np.clip(shares, least, 1.0)).astype(np.float32)
        return clipped


def nearness_scale(vectors: NDArray[np.float32], embedded: NDArray[np.bool_] | None = None) -> NearnessScale | None:
    """Return the scale of the model that made `vectors` (skills, dimension), each of length 1.

    Where not all rows have one, `embedded` (skills,) says which. It is always the same for the same rows, and reads at
    most 400 of them. None for fewer than `FEWEST_SKILLS`.
    """
    import numpy as np

    numbers = np.arange(len(vectors)) if embedded is None else np.flatnonzero(embedded)
    if len(numbers) < FEWEST_SKILLS:
        return None
    chosen = np.linspace(0, len(numbers) - 1, min(len(numbers), _SAMPLED)).astype(np.int64)
    sample = np.asarray(vectors[numbers[chosen]], dtype=np.float32)
    # Not by BLAS: it takes a millisecond, and the thread that helped it keeps a processor busy for a tenth of a second.
    cosines = np.einsum("id,jd->ij", sample, sample)[np.triu_indices(len(sample), k=1)]
    # `np.quantile` would import numpy's masked arrays, which take ten times as long as this.
    places = np.multiply((0.5, _NEAR_SHARE), len(cosines) - 1)
    far, near = np.interp(places, np.arange(len(cosines)), np.sort(cosines))
    return NearnessScale(float(far), float(near))
