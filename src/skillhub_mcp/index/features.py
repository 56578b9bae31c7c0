"""The features of a skill: the terms of each field, as ranking and full-text search read them from its row.

1. Ranking identifies a term by a 32-bit hash. A query term and another term of a skill collide about once in a million
   skills; then that skill gains a fraction of its score.
2. `encoded` are little-endian 32-bit integers: the lengths of the fields, the number of terms, a zero, each term's hash
   in ascending order, and each term's counts, packed by field.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import TermCache, long_words, term_counts
from skillhub_mcp.index.lance import IndexDamaged

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.skills.model import Skill

FIELDS = ("name", "description", "tags", "category", "body")
# The prefix of a term of a short field in the full-text column, for searching that field alone.
MARKS = {"name": "n:", "description": "d:", "tags": "t:", "category": "c:"}
# The bits of a term's 32 that count it in each field; a count that does not fit is capped.
_BITS = (5, 7, 5, 3, 12)
_SHIFTS = tuple(accumulate(_BITS[:-1], initial=0))
_MASKS = tuple((1 << bits) - 1 for bits in _BITS)
HEADER = len(FIELDS) + 2
# What a body says after this is reference material, not what the skill is for.
_BODY_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class SkillTerms:
    """What statistics count of a skill: its distinct terms, the lengths of its fields in terms, and its words.

    The words are those of the short fields as written, for correcting a query's spelling.
    """

    terms: Collection[str]
    lengths: Sequence[int]
    words: Collection[str]


@dataclass(frozen=True, slots=True)
class SkillFeatures:
    """The features of a skill as stored: `encoded` for ranking, and `text` for the full-text column.

    The text has all terms, then those of the short fields again, each with the mark of its field.
    """

    own: SkillTerms
    encoded: bytes
    text: str


def skill_features(skill: Skill, body: str, known: TermCache) -> SkillFeatures:
    """Return the features of a skill with that body; `known` are terms of tokens, to be reused for the next skill."""
    texts = (skill.name, skill.description, " ".join(skill.tags), skill.category or "", body[:_BODY_CHARACTERS])
    fields = [term_counts(text, known) for text in texts]
    packed: Counter[str] = Counter()
    for counts, shift, most in zip(fields, _SHIFTS, _MASKS, strict=True):
        packed.update({term: min(times, most) << shift for term, times in counts.items()})
    by_hash = sorted((hash_term(term), counts) for term, counts in packed.items())
    lengths = [sum(counts.values()) for counts in fields]
    numbers = [*lengths, len(by_hash), 0, *(one for one, _ in by_hash), *(counts for _, counts in by_hash)]
    written = [term for counts in fields for term in counts.elements()]
    written += [mark + term for mark, counts in zip(MARKS.values(), fields, strict=False) for term in counts.elements()]
    own = SkillTerms(packed.keys(), lengths, short_words((skill.name, skill.description, *skill.tags)))
    return SkillFeatures(own, struct.pack(f"<{len(numbers)}I", *numbers), " ".join(written))


def stored_terms(encoded: bytes, text: str, short_texts: Iterable[str]) -> SkillTerms:
    """Return what statistics count of a skill, from the columns of its row. Raises IndexDamaged."""
    if len(encoded) < HEADER * 4:
        raise IndexDamaged("a row's features are damaged")
    terms = {term for term in text.split(" ") if term and ":" not in term}
    return SkillTerms(terms, struct.unpack_from(f"<{len(FIELDS)}I", encoded), short_words(short_texts))


def hash_term(term: str) -> int:
    """Return the 32-bit hash that identifies a term."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def marked(terms: Sequence[str], fields: Collection[str]) -> list[str]:
    """Return what to ask the full-text column for, to find skills with one of the terms in one of the fields.

    The body has no marks: with it, the terms are asked for as they are, in whatever field.
    """
    if not MARKS.keys() >= set(fields):
        return list(terms)
    return [mark + term for field, mark in MARKS.items() if field in fields for term in terms]


def short_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the folded words of `texts` that are long enough to be misspelt, and runs of unspaced text."""
    return frozenset(word for text in texts for word in long_words(text))


def unpack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """Return unpacked counts of terms: shape (fields, terms)."""
    import numpy as np

    unpacked: NDArray[Any] = counts >> np.array(_SHIFTS, dtype="<u4")[:, None] & np.array(_MASKS, dtype="<u4")[:, None]
    return unpacked
