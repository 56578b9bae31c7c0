"""The features of a skill that ranking uses: its terms by field and its field lengths, encoded as bytes.

1. A term is identified by a 32-bit hash. A query term and another term of a skill collide about once in a million
   skills; then that skill gains a fraction of its score.
2. All integers are little-endian and 32 bits wide: the lengths of the fields, the number of terms, a zero, then each
   term's hash, and each term's counts packed by field. Schema 2 had, instead of the zero, the number of phrases that
   followed; its rows can still be read.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import term_counts, terms, tokens
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.skills.model import Skill

FIELDS = ("name", "description", "tags", "category", "body")
# The bits of a term's 32 that count it in each field; a count that does not fit is capped.
_BITS = (5, 7, 5, 3, 12)
_SHIFTS = tuple(accumulate(_BITS[:-1], initial=0))
_MASKS = tuple((1 << bits) - 1 for bits in _BITS)
_HEADER = len(FIELDS) + 2
# What a body says after this is reference material, not what the skill is for.
_BODY_CHARACTERS = 100_000
_SHORTEST_WORD = 3
_CACHED_HASHES = 200_000


@dataclass(frozen=True, slots=True)
class EncodedFeatures:
    """The features of a skill as they are stored, for `decode_features` to read.

    `words` are the words of the short fields as written, for correcting a query's spelling.
    """

    encoded: bytes
    words: frozenset[str]


@lru_cache(maxsize=_CACHED_HASHES)
def hash_term(term: str) -> int:
    """Return the 32-bit hash that identifies a term."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def encode_features(skill: Skill, body: str) -> EncodedFeatures:
    """Return the features of a skill with that body."""
    import numpy as np

    short = (skill.name, skill.description, " ".join(skill.tags), skill.category or "")
    fields = [Counter(terms(text)) for text in short]
    fields.append(term_counts(body[:_BODY_CHARACTERS]))
    packed: dict[str, int] = {}
    for counts, shift, most in zip(fields, _SHIFTS, _MASKS, strict=True):
        for term, times in counts.items():
            packed[term] = packed.get(term, 0) | min(times, most) << shift
    lengths = [sum(counts.values()) for counts in fields]
    numbers = [*lengths, len(packed), 0, *map(hash_term, packed), *packed.values()]
    return EncodedFeatures(np.array(numbers, dtype="<u4").tobytes(), skill_words(skill))


def skill_words(skill: Skill) -> frozenset[str]:
    """Return the folded words of a skill's short fields."""
    return short_words((skill.name, skill.description, *skill.tags))


def short_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the folded words of `texts` that are long enough to be misspelt, and runs of unspaced text."""
    return frozenset(
        word
        for text in texts
        for token in tokens(text)
        if len(word := fold_marks(token)) >= _SHORTEST_WORD or UNSPACED.search(word)
    )


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of the requested terms: one entry for each pair of a skill and a term that it has.

    `term_indices` are the positions of the terms among the requested ones, `rows` those of the skills: shape (n,).
    `counts` are the occurrences by field: shape (fields, n).
    """

    term_indices: NDArray[Any]
    rows: NDArray[Any]
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True)
class SkillFeatures:
    """The decoded features of one skill: the lengths of its fields, its terms' hashes and their packed counts."""

    lengths: NDArray[Any]
    hashes: NDArray[Any]
    counts: NDArray[Any]


def decode_features(encoded: bytes) -> SkillFeatures:
    """Decode the features of one skill, without copying. Raises ValueError for what are none."""
    import numpy as np

    numbers = np.frombuffer(encoded, dtype="<u4")
    count = int(numbers[_HEADER - 2]) if len(numbers) >= _HEADER else len(numbers)
    middle, end = _HEADER + count, _HEADER + 2 * count
    if end > len(numbers):
        raise ValueError("a row's features are damaged")
    return SkillFeatures(numbers[: len(FIELDS)], numbers[_HEADER:middle], numbers[middle:end])


def unpack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """Return unpacked counts of terms: shape (fields, terms)."""
    import numpy as np

    unpacked: NDArray[Any] = counts >> np.array(_SHIFTS, dtype="<u4")[:, None] & np.array(_MASKS, dtype="<u4")[:, None]
    return unpacked
