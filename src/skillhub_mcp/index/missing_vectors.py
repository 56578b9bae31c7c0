"""Which skills of a published index lack the vector of their text, and which of the vectors made since are theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from skillhub_mcp.index.lance import LanceIndex
from skillhub_mcp.index.row_keys import keys_of, located
from skillhub_mcp.index.rows import StoredVector
from skillhub_mcp.index.state import IndexState


@dataclass(frozen=True, slots=True)
class VectorsToAdd:
    """Vectors by the keys of their rows, their length, and the directories of the skills that lack one even then."""

    by_key: Mapping[str, StoredVector]
    dimension: int
    lacking: frozenset[str]


def texts_to_embed(state: IndexState, index: LanceIndex, roots: Collection[str]) -> tuple[dict[str, str], int | None]:
    """Return the texts of skills of `roots` without a vector, by directory, and the length that their vectors must
    have, where it is known.

    It is known where some rows have vectors of their present text: those of another length could not be compared with
    them. Raises IndexDamaged.
    """
    missing = index.unembedded()
    known = None if len(missing) == index.count() else index.dimension
    memory = state.memory_of(roots)
    lacking = sorted(located(missing, keys_of(state)))
    found = ((directory, memory[directory].skill) for directory in lacking if directory in memory)
    return {directory: skill.searchable_text for directory, skill in found if skill is not None}, known


def vectors_to_add(
    vectors: Mapping[str, StoredVector], state: IndexState, index: LanceIndex, roots: Collection[str]
) -> VectorsToAdd | None:
    """Return those of `vectors`, by directory, whose text a skill of `roots` still has without one; None for none.

    Raises IndexDamaged.
    """
    keys = keys_of(state)
    rows = list(index.unembedded())
    missing = dict(zip(keys.directories(rows), rows, strict=True))
    memory = state.memory_of(roots)
    present = {
        directory: own
        for directory, own in vectors.items()
        if directory in missing
        and directory in memory
        and (skill := memory[directory].skill) is not None
        and skill.searchable_text == own.text
    }
    if not present:
        return None
    dimension = len(next(iter(present.values())).vector)
    lacking = frozenset(missing)
    if index.dimension not in (None, dimension):
        # Those of the other length are dropped.
        lacking = located(index.stored(), keys)
    by_key = {missing[directory]: own for directory, own in present.items()}
    return VectorsToAdd(by_key, dimension, lacking - present.keys())
