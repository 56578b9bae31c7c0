"""The features of a skill that ranking uses: its terms by field, its phrases and its field lengths, encoded as bytes.

1. A term is identified by a 32-bit hash. A query term and another term of a skill collide about once in a million
   skills; then that skill gains a fraction of its score.
2. All integers are little-endian and 32 bits wide: the lengths of the fields, the number of terms, the number of
   phrases, then each term's hash, each term's counts packed by field, and each phrase's hash.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Protocol

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
# The weight of the short fields relative to the body when candidates are found.
_SHORT_WEIGHT = 3
# What a body says after this is reference material, not what the skill is for.
_BODY_CHARACTERS = 100_000
_SHORTEST_WORD = 3
_CACHED_HASHES = 200_000


@dataclass(frozen=True, slots=True)
class EncodedFeatures:
    """The stored features of a skill.

    `encoded` holds the lengths, terms and phrases that `decode_features` reads. `text` is the text of the full-text
    index: the terms of the short fields three times, those of the body once. `words` are the words of the short fields
    as written, for correcting a query's spelling.
    """

    encoded: bytes
    text: str
    words: frozenset[str]


@lru_cache(maxsize=_CACHED_HASHES)
def hash_term(term: str) -> int:
    """Return the 32-bit hash that identifies a term."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def hash_phrase(first: str, second: str) -> int:
    """Return the hash that identifies two adjacent terms."""
    return hash_term(f"{first} {second}")


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
    phrases = {hash_phrase(*pair) for text in short[:2] for pair in pairwise(terms(text))}
    lengths = [sum(counts.values()) for counts in fields]
    header = [*lengths, len(packed), len(phrases)]
    numbers = [*header, *map(hash_term, packed), *packed.values(), *sorted(phrases)]
    return EncodedFeatures(
        encoded=np.array(numbers, dtype="<u4").tobytes(),
        text=_indexed_text(fields),
        words=skill_words(skill),
    )


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


class Terms(Protocol):
    """The terms and phrases of several skills, as scoring reads them; each skill is a row."""

    @property
    def lengths(self) -> NDArray[Any]:
        """The lengths of the fields in terms: shape (skills, fields)."""

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Return the occurrences of the terms of those hashes."""

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Return the rows of skills whose name or description has a phrase of those hashes, once for each phrase."""


@dataclass(frozen=True, slots=True)
class StackedTerms:
    """The `Terms` of skills whose features were read one by one.

    `hashes` and `counts` hold the terms of all skills, one skill after the other; `starts` are the offsets of each
    skill's terms. `phrases` and `phrase_starts` are the same for phrases.
    """

    hashes: NDArray[Any]
    counts: NDArray[Any]
    starts: NDArray[Any]
    phrases: NDArray[Any]
    phrase_starts: NDArray[Any]
    lengths: NDArray[Any]

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Compare each hash with all terms."""
        term_indices, positions = _positions(self.hashes, hashes)
        rows = self.starts.searchsorted(positions, side="right") - 1
        return Occurrences(term_indices, rows, unpack_counts(self.counts[positions]))

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Compare each hash with all phrases."""
        _, positions = _positions(self.phrases, hashes)
        rows: NDArray[Any] = self.phrase_starts.searchsorted(positions, side="right") - 1
        return rows


@dataclass(frozen=True)
class SkillFeatures:
    """The decoded features of one skill: lengths by field, its terms' hashes and packed counts, its phrases' hashes."""

    lengths: NDArray[Any]
    hashes: NDArray[Any]
    counts: NDArray[Any]
    phrases: NDArray[Any]


def decode_features(encoded: bytes) -> SkillFeatures:
    """Decode the features of one skill, without copying."""
    import numpy as np

    numbers = np.frombuffer(encoded, dtype="<u4")
    count = int(numbers[_HEADER - 2])
    middle, end = _HEADER + count, _HEADER + 2 * count
    return SkillFeatures(numbers[: len(FIELDS)], numbers[_HEADER:middle], numbers[middle:end], numbers[end:])


def unpack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """Return unpacked counts of terms: shape (fields, terms)."""
    import numpy as np

    unpacked: NDArray[Any] = counts >> np.array(_SHIFTS, dtype="<u4")[:, None] & np.array(_MASKS, dtype="<u4")[:, None]
    return unpacked


def stack_terms(skills: Sequence[SkillFeatures]) -> StackedTerms:
    """Return the terms of several skills as one `Terms`."""
    import numpy as np

    empty = np.zeros(0, dtype="<u4")
    return StackedTerms(
        hashes=np.concatenate([empty, *(one.hashes for one in skills)]),
        counts=np.concatenate([empty, *(one.counts for one in skills)]),
        starts=start_offsets([len(one.hashes) for one in skills]),
        phrases=np.concatenate([empty, *(one.phrases for one in skills)]),
        phrase_starts=start_offsets([len(one.phrases) for one in skills]),
        lengths=np.concatenate([empty, *(one.lengths for one in skills)]).astype(np.float64).reshape(-1, len(FIELDS)),
    )


def term_frequencies(counts: NDArray[Any]) -> NDArray[Any]:
    """Return how often each term occurs in `EncodedFeatures.text`, from its packed counts."""
    import numpy as np

    weights = np.array([1 if name == "body" else _SHORT_WEIGHT for name in FIELDS], dtype="<u4")
    times: NDArray[Any] = weights @ unpack_counts(counts)
    return times


def _positions(hashes: NDArray[Any], wanted: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the matches of `wanted` in `hashes`: the index of the wanted hash, and its position."""
    import numpy as np

    positions = [np.flatnonzero(hashes == one) for one in wanted]
    indices = np.repeat(np.arange(len(positions)), [len(own) for own in positions])
    return indices, np.concatenate([np.zeros(0, dtype=np.intp), *positions])


def start_offsets(sizes: Sequence[int]) -> NDArray[Any]:
    """Return the start offsets of consecutive runs of those sizes."""
    import numpy as np

    return np.array(list(accumulate(sizes, initial=0))[:-1], dtype=np.intp)


def _indexed_text(fields: Sequence[Counter[str]]) -> str:
    """Return the text whose plain BM25 is closest to the ranking: the terms of the short fields count three times."""
    short = [term for counts in fields[:-1] for term in counts.elements()]
    return " ".join([*short * _SHORT_WEIGHT, *fields[-1].elements()])
