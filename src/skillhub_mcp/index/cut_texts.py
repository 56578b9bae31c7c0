"""Texts cut at blanks, with each distinct piece once: by Arrow, several times as fast as Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PiecesOfTexts:
    """The pieces of several texts: text `i` has `distinct[j]` for each `j` in `pieces[starts[i]:starts[i + 1]]`."""

    distinct: Sequence[bytes]
    pieces: NDArray[Any]
    starts: NDArray[Any]


def cut_at_blanks(content: bytes, begins: NDArray[Any]) -> PiecesOfTexts:
    """Return the pieces of the texts that begin there in `content`, which is below 2 GB; some pieces are empty."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    where = [None, pa.py_buffer(begins.astype(np.int32)), pa.py_buffer(content)]
    # Arrow cuts only what it takes for text; it looks at nothing but the blanks.
    cut = pc.ascii_split_whitespace(pa.Array.from_buffers(pa.string(), len(begins) - 1, where))
    encoded = cut.values.dictionary_encode()
    return PiecesOfTexts(
        distinct=encoded.dictionary.view(pa.binary()).to_pylist(),
        pieces=encoded.indices.to_numpy(zero_copy_only=False),
        starts=cut.offsets.to_numpy(),
    )
