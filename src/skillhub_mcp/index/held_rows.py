"""The rows of a small library, as a search needs them: in memory, and in a file beside the table.

The file is a copy of one version of the table without its texts. With it a search loads no LanceDB, which takes longer
than all the rest of the search and more memory than the rest of a server. It is derived: named after the version,
carries the table's id, and is written again by whoever misses it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import FIELDS, SkillFeatures
from skillhub_mcp.index.stored_arrays import load_arrays, save_arrays

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

# A library of up to this many skills is held in memory and searched there: about 4 KB a skill and its row.
HELD_ROWS = 5_000
# No path has it.
_BETWEEN = "\0"
_DIMENSIONS = {
    "table": 0,
    "directories": 1,
    "lengths": 2,
    "hashes": 1,
    "counts": 1,
    "phrases": 1,
    "terms_each": 1,
    "phrases_each": 1,
    "vectors": 2,
    "embedded": 1,
}


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows by number: each has a directory, features and, in some tables, a vector.

    `vectors` has shape (rows, dimension), float32, and is None for a table without any. `embedded` says which rows have
    one: shape (rows,).
    """

    directories: Sequence[str]
    features: Sequence[SkillFeatures]
    vectors: NDArray[Any] | None
    embedded: NDArray[Any]

    def without_vectors(self) -> HeldRows:
        """Return the rows as those of a table that has no vectors."""
        import numpy as np

        return HeldRows(self.directories, self.features, None, np.zeros(len(self.directories), dtype=bool))


def save_rows(path: str, rows: HeldRows, table_id: str) -> None:
    """Replace the file at `path` atomically; several may do so at once, with the same rows. Raises OSError."""
    import numpy as np

    features = rows.features
    empty = np.zeros(0, dtype="<u4")
    # Of no length where the table has none: of an entry that is not there, nobody knows whether it was lost.
    vectors = np.zeros((len(features), 0), dtype=np.float32) if rows.vectors is None else rows.vectors
    arrays = {
        "table": np.array(table_id),
        "directories": np.frombuffer(_BETWEEN.join(rows.directories).encode("utf-8", "surrogatepass"), dtype=np.uint8),
        "lengths": np.array([one.lengths for one in features], dtype="<u4").reshape(-1, len(FIELDS)),
        "hashes": np.concatenate([empty, *(one.hashes for one in features)]),
        "counts": np.concatenate([empty, *(one.counts for one in features)]),
        "phrases": np.concatenate([empty, *(one.phrases for one in features)]),
        "terms_each": np.array([len(one.hashes) for one in features], dtype=np.int64),
        "phrases_each": np.array([len(one.phrases) for one in features], dtype=np.int64),
        "vectors": vectors,
        "embedded": rows.embedded,
    }
    save_arrays(path, arrays)


def load_rows(path: str, table_id: str) -> HeldRows:
    """Return the rows at `path`. Raises OSError or ValueError if there are no usable ones of that table."""
    stored = load_arrays(path, _DIMENSIONS)
    if str(stored["table"]) != table_id:
        raise ValueError(f"{os.path.basename(path)} belongs to another table")
    text = stored["directories"].tobytes().decode("utf-8", "surrogatepass")
    directories = text.split(_BETWEEN) if text else []
    hashes, counts, phrases = stored["hashes"], stored["counts"], stored["phrases"]
    lengths, vectors, embedded = stored["lengths"], stored["vectors"], stored["embedded"]
    each = [stored["terms_each"], stored["phrases_each"]]
    if (
        not len(directories) == len(lengths) == len(vectors) == len(embedded) == len(each[0]) == len(each[1])
        or lengths.shape[1] != len(FIELDS)
        or any(sizes.dtype.kind != "i" or (sizes < 0).any() for sizes in each)
        or not len(hashes) == len(counts) == sum(each[0].tolist())
        or len(phrases) != sum(each[1].tolist())
    ):
        raise ValueError(f"{os.path.basename(path)} is damaged")
    features = [
        SkillFeatures(own, hashes[terms], counts[terms], phrases[both])
        for own, terms, both in zip(lengths, _slices(each[0]), _slices(each[1]), strict=True)
    ]
    return HeldRows(directories, features, vectors if vectors.shape[1] else None, embedded)


def _slices(sizes: NDArray[Any]) -> list[slice]:
    return [slice(*bounds) for bounds in pairwise(accumulate(sizes.tolist(), initial=0))]
