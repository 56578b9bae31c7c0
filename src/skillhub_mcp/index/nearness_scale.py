"""What a cosine means with one model: measured on the library's own descriptions, since models differ. Pure.

Two texts that have nothing to do with each other have a cosine of 0.15 with one model and 0.75 with the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def nearness_scale(vectors: NDArray[np.float32]) -> NearnessScale | None:
    """Return the scale of the model that made a sample of vectors (skills, dimension), each of length 1.

    None for fewer than `FEWEST_SKILLS`.
    """
    import numpy as np

    if len(vectors) < FEWEST_SKILLS:
        return None
    # Not by BLAS: it takes a millisecond, and the thread that helped it keeps a processor busy for a tenth of a second.
    cosines = np.einsum("id,jd->ij", vectors, vectors)[np.triu_indices(len(vectors), k=1)]
    # `np.quantile` would import numpy's masked arrays, which take ten times as long as this.
    places = np.multiply((0.5, _NEAR_SHARE), len(cosines) - 1)
    far, near = np.interp(places, np.arange(len(cosines)), np.sort(cosines))
    return NearnessScale(float(far), float(near))
