"""What of a skill does ranking look at? Its terms by field, its phrases and its lengths, as one run of bytes.

The rules of this module:
1. A term is known by a 32-bit hash. Two of a question's words and a skill's own meet by chance once in a million
   skills, and then a skill gains a fraction of its score.
2. All integers are little-endian and 32 bits wide: the lengths of the fields, how many terms, how many phrases, then
   each term's hash, each term's counts packed by field, and each phrase's hash.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Protocol

from skillhub_mcp.analysis.analyzer import term_counts, terms, tokens
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.skills.model import Skill

FIELDS = ("name", "description", "tags", "category", "body")
# How many of a term's 32 bits count it in each field; more of it than that counts as that many.
_BITS = (5, 7, 5, 3, 12)
_SHIFTS = tuple(accumulate(_BITS[:-1], initial=0))
_MASKS = tuple((1 << bits) - 1 for bits in _BITS)
_SHORT_COUNTS = (1 << _SHIFTS[-1]) - 1
_HEADER = len(FIELDS) + 2
# What is short weighs so many times what the body does, where candidates are found.
_SHORT_TIMES = 3
# A body goes on beyond this for reference, not to say what the skill is for.
_BODY_CHARACTERS = 100_000
_SHORTEST_WORD = 3
_KNOWN_TERMS = 200_000


@dataclass(frozen=True, slots=True)
class EncodedFeatures:
    """What is kept of a skill: `hashes` and `counts` of its terms, `phrases`, the `lengths` of its fields in terms.

    `text` is what the full-text index holds: the terms of the short fields three times, those of the body once.
    `words` are the words of the short fields as they are written, for mending a question's spelling.
    """

    encoded: bytes
    text: str
    words: frozenset[str]


@lru_cache(maxsize=_KNOWN_TERMS)
def hash_term(term: str) -> int:
    """Return the hash that a term is known by."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def hash_phrase(first: str, second: str) -> int:
    """Return the hash that two terms are known by which stand side by side."""
    return hash_term(f"{first} {second}")


def encode_features(skill: Skill, body: str) -> EncodedFeatures:
    """Return what ranking looks at of a skill with that body."""
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
    """Return the folded words of those texts that are long enough to be misspelt, and runs of unspaced text."""
    return frozenset(
        word
        for text in texts
        for token in tokens(text)
        if len(word := fold_marks(token)) >= _SHORTEST_WORD or UNSPACED.search(word)
    )


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where terms that were asked for stand: which of them it is, by number, in whose row, and how often in each field.

    `counts` has a row a field; all have a column for each of the terms that each skill has.
    """

    term_indices: NDArray[Any]
    rows: NDArray[Any]
    counts: NDArray[Any]


class Terms(Protocol):
    """Which terms and phrases several skills have, a row a skill: what scoring asks."""

    @property
    def lengths(self) -> NDArray[Any]:
        """The lengths of the fields in terms: a row a skill, a column a field."""

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Return where the terms of those hashes stand."""

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Return the rows whose name or description has a phrase of those hashes, once for each that it has."""


@dataclass(frozen=True, slots=True)
class StackedTerms:
    """The Terms of skills whose features were read one by one.

    `hashes` and `counts` of all their terms, where `starts` says at which each skill's begin; the same of `phrases`.
    """

    hashes: NDArray[Any]
    counts: NDArray[Any]
    starts: NDArray[Any]
    phrases: NDArray[Any]
    phrase_starts: NDArray[Any]
    lengths: NDArray[Any]

    def occurrences(self, hashes: Sequence[int]) -> Occurrences:
        """Look for each term among all."""
        term_indices, where = _positions(self.hashes, hashes)
        rows = self.starts.searchsorted(where, side="right") - 1
        return Occurrences(term_indices, rows, unpack_counts(self.counts[where]))

    def rows_with_phrases(self, hashes: Sequence[int]) -> NDArray[Any]:
        """Look for each phrase among all."""
        _, where = _positions(self.phrases, hashes)
        rows: NDArray[Any] = self.phrase_starts.searchsorted(where, side="right") - 1
        return rows


@dataclass(frozen=True)
class SkillFeatures:
    """The features of one skill, apart: lengths by field, and its terms' hashes, their counts, its phrases."""

    lengths: NDArray[Any]
    hashes: NDArray[Any]
    counts: NDArray[Any]
    phrases: NDArray[Any]

    @cached_property
    def short(self) -> NDArray[Any]:
        """The hashes of the terms in its short fields."""
        found: NDArray[Any] = self.hashes[self.counts & _SHORT_COUNTS > 0]
        return found


def decode_features(encoded: bytes) -> SkillFeatures:
    """Return the features of one skill, from their bytes, without copying any."""
    import numpy as np

    numbers = np.frombuffer(encoded, dtype="<u4")
    count = int(numbers[_HEADER - 2])
    middle, end = _HEADER + count, _HEADER + 2 * count
    return SkillFeatures(numbers[: len(FIELDS)], numbers[_HEADER:middle], numbers[middle:end], numbers[end:])


def unpack_counts(counts: NDArray[Any]) -> NDArray[Any]:
    """Return packed counts of terms apart: a row a field, a column a term."""
    import numpy as np

    apart: NDArray[Any] = counts >> np.array(_SHIFTS, dtype="<u4")[:, None] & np.array(_MASKS, dtype="<u4")[:, None]
    return apart


def stack_terms(skills: Sequence[SkillFeatures]) -> StackedTerms:
    """Return the terms of several skills."""
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
    """Return how often each term stands in `EncodedFeatures.text`, from its counts packed by field."""
    import numpy as np

    worth = np.array([1 if name == "body" else _SHORT_TIMES for name in FIELDS], dtype="<u4")
    times: NDArray[Any] = worth @ unpack_counts(counts)
    return times


def similarity_mask(skills: Sequence[SkillFeatures], *, threshold: float) -> NDArray[Any]:
    """Return which skills share at least that share of their terms: of those in their short fields, and of all.

    A row and a column a skill.
    """
    import numpy as np

    short = _shared([one.short for one in skills]) >= threshold
    if not np.triu(short, 1).any():
        # None is like another: no need to look at bodies.
        return short
    both: NDArray[Any] = short & (_shared([one.hashes for one in skills]) >= threshold)
    return both


def _shared(sets: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return which share of the elements of two sets is in both, for each two."""
    import numpy as np

    sizes = np.array([len(one) for one in sets], dtype=np.intp)
    every = np.concatenate([np.zeros(0, dtype="<u4"), *sets])
    # Where an element first stands among all in their order is its column.
    columns = np.sort(every).searchsorted(every)
    has = np.zeros((len(sets), len(every)), dtype=np.float32)
    has[np.repeat(np.arange(len(sets)), sizes), columns] = 1.0
    shared = has @ has.T
    shares: NDArray[Any] = shared / np.maximum(1.0, sizes[:, None] + sizes - shared)
    return shares


def _positions(hashes: NDArray[Any], wanted: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where in `hashes` each of the wanted ones stands: which of them it is, and the place."""
    import numpy as np

    places = [np.flatnonzero(hashes == one) for one in wanted]
    numbers = np.repeat(np.arange(len(places)), [len(own) for own in places])
    return numbers, np.concatenate([np.zeros(0, dtype=np.intp), *places])


def start_offsets(sizes: Sequence[int]) -> NDArray[Any]:
    """Return where each of several runs of those sizes begins, one after the other."""
    import numpy as np

    return np.array(list(accumulate(sizes, initial=0))[:-1], dtype=np.intp)


def _indexed_text(fields: Sequence[Counter[str]]) -> str:
    """Return the text whose plain BM25 comes nearest to the ranking: what is short weighs three times."""
    short = [term for counts in fields[:-1] for term in counts.elements()]
    return " ".join([*short * _SHORT_TIMES, *fields[-1].elements()])
