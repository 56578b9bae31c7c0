"""Near copies among hits: skills that say nearly the same as a better hit. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from skillhub_mcp.index.features import similarity_mask

if TYPE_CHECKING:
    from skillhub_mcp.index.candidate import Candidate
    from skillhub_mcp.search.ranking import Hit

# Two skills say nearly the same when they share nine of ten terms, in the short fields and in all of them.
_SHARED_TERMS = 0.9
_SCORE_RATIO = 0.95
_COMPARED_HITS = 20


def near_copies(hits: Sequence[Hit], candidates: Mapping[str, Candidate]) -> dict[str, list[str]]:
    """Return the directories of the hits that say nearly the same as a better one, by that one's directory.

    `hits` are best first. Near copies have nearly the same score, so only such hits are compared.
    """
    compared = hits[:_COMPARED_HITS]
    if not any(after.score >= before.score * _SCORE_RATIO for before, after in pairwise(compared)):
        return {}
    similar = similarity_mask([candidates[hit.directory].features for hit in compared], threshold=_SHARED_TERMS)
    copies: dict[str, list[str]] = {}
    taken: set[str] = set()
    for number, other in zip(*(axis.tolist() for axis in similar.nonzero()), strict=True):
        hit, copy = compared[number], compared[other]
        if number < other and copy.score >= hit.score * _SCORE_RATIO and not {hit.directory, copy.directory} & taken:
            copies.setdefault(hit.directory, []).append(copy.directory)
            taken.add(copy.directory)
    return copies
