"""The features of a skill that ranking uses: its terms by field and its field lengths, encoded as bytes.

1. A term is identified by a 32-bit hash. A query term and another term of a skill collide about once in a million
   skills; then that skill gains a fraction of its score.
2. All integers are little-endian and 32 bits wide: the lengths of the fields, the number of terms, a zero, then each
   term's hash, ascending, and each term's counts packed by field. Rows of earlier releases have the terms in another
   order. Schema 2 had, instead of the zero, the number of phrases that
   followed; its rows can still be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, TypeVar

from skillhub_mcp.analysis.analyzer import tokens
from skillhub_mcp.analysis.pieces import in_pieces, long_words, piece_terms, piece_words

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from skillhub_mcp.index.cut_texts import PiecesOfTexts
    from skillhub_mcp.skills.model import Skill

_Known = TypeVar("_Known")

FIELDS = ("name", "description", "tags", "category", "body")
# What stands before a term of a short field in the full-text column, where that field alone is searched.
MARKS = {"name": "n:", "description": "d:", "tags": "t:", "category": "c:"}
# The bits of a term's 32 that count it in each field; a count that does not fit is capped.
_BITS = (5, 7, 5, 3, 12)
_SHIFTS = tuple(accumulate(_BITS[:-1], initial=0))
_MASKS = tuple((1 << bits) - 1 for bits in _BITS)
_HEADER = len(FIELDS) + 2
# What a body says after this is reference material, not what the skill is for.
_BODY_CHARACTERS = 100_000
_CACHED_HASHES = 50_000
# Words are those of name, description and tags.
_WORD_FIELDS = 3
_FIELD_BITS = 3
_OWNER_SHIFT = 32 + _FIELD_BITS
_KEPT_PIECES = 80_000
_KEPT_BYTES = 32


@dataclass(frozen=True, slots=True)
class CountedSkills:
    """The features of several skills.

    `lengths` has shape (skills, fields). Skill `i` has the terms `hashes[starts[i]:starts[i + 1]]`, ascending, and
    `counts` are their packed counts in it. `words` says how many of the skills have a word of their short fields, as
    written, for correcting a query's spelling. `texts` has the terms of each skill for full-text search, if asked for:
    all of them, then those of the short fields again, each marked with its field (`marked`).
    """

    lengths: NDArray[Any]
    starts: NDArray[Any]
    hashes: NDArray[Any]
    counts: NDArray[Any]
    words: Mapping[str, int]
    texts: Sequence[str] = ()

    def encoded(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the features as they are stored: the numbers of all skills, and where those of each begin."""
        import numpy as np

        skills = len(self.lengths)
        terms = np.diff(self.starts)
        begins = np.zeros(skills + 1, dtype=np.int64)
        np.cumsum(_HEADER + 2 * terms, out=begins[1:])
        numbers = np.zeros(int(begins[-1]), dtype="<u4")
        numbers[begins[:-1, None] + np.arange(len(FIELDS))] = self.lengths
        numbers[begins[:-1] + len(FIELDS)] = terms
        places = np.arange(len(self.hashes)) + np.repeat(begins[:-1] + _HEADER - self.starts[:-1], terms)
        numbers[places] = self.hashes
        numbers[places + np.repeat(terms, terms)] = self.counts
        return numbers, begins


@lru_cache(maxsize=_CACHED_HASHES)
def hash_term(term: str) -> int:
    """Return the 32-bit hash that identifies a term."""
    return _crc(term)


def _crc(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


class TermCounter:
    """Counts the terms of many skills at once. What it learns of their words it keeps, up to a bound."""

    def __init__(self, *, with_texts: bool = False) -> None:
        self._hashes: dict[bytes, tuple[int, ...]] = {}
        self._words: dict[bytes, tuple[str, ...]] = {}
        self._texts: dict[bytes, str] = {}
        self._with_texts = with_texts

    def count(self, skills: Sequence[tuple[Skill, str]]) -> CountedSkills:
        """Return the features of skills with those bodies."""
        import numpy as np

        from skillhub_mcp.index.cut_texts import cut_at_blanks

        number = len(skills)
        # All names, then all descriptions, and so on.
        cut = cut_at_blanks(*in_pieces([text for field in zip(*map(_texts, skills), strict=True) for text in field]))
        rows, hashes = self._terms(cut)
        lengths = np.bincount(rows, minlength=len(FIELDS) * number).reshape(len(FIELDS), number).T
        fields, owners = np.divmod(rows, max(1, number))
        keys = owners.astype(np.uint64) << np.uint64(_OWNER_SHIFT) | hashes << np.uint64(_FIELD_BITS)
        keys |= fields.astype(np.uint64)
        keys.sort()
        first = _firsts(keys)
        counts = np.diff(np.append(first, len(keys)))
        keys = keys[first]
        field = (keys & np.uint64((1 << _FIELD_BITS) - 1)).astype(np.intp)
        packed = np.minimum(counts, np.array(_MASKS)[field]) << np.array(_SHIFTS)[field]
        keys >>= np.uint64(_FIELD_BITS)
        first = _firsts(keys)
        keys = keys[first]
        return CountedSkills(
            lengths=lengths.astype("<u4"),
            starts=np.searchsorted(keys, np.arange(number + 1, dtype=np.uint64) << np.uint64(32)).astype(np.int64),
            hashes=(keys & np.uint64(0xFFFF_FFFF)).astype("<u4"),
            counts=np.add.reduceat(packed, first).astype("<u4") if len(first) else packed.astype("<u4"),
            words=self._words_of(cut, number),
            texts=self._texts_of(cut, number) if self._with_texts else (),
        )

    def _texts_of(self, cut: PiecesOfTexts, number: int) -> list[str]:
        """Return the terms of each skill as one text, separated by blanks."""
        own = [_known(self._texts, piece, _piece_text) for piece in cut.distinct]
        pieces, starts = cut.pieces.tolist(), cut.starts.tolist()
        fields = [" ".join([own[piece] for piece in pieces[begin:end]]) for begin, end in pairwise(starts)]
        return [
            " ".join([*fields[skill::number], *_all_marked(fields[skill : len(MARKS) * number : number])])
            for skill in range(number)
        ]

    def _terms(self, cut: PiecesOfTexts) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the text and the hash of each term: int64 and uint64."""
        import numpy as np

        own = [_known(self._hashes, piece, _piece_hashes) for piece in cut.distinct]
        sizes = np.fromiter(map(len, own), dtype=np.int64, count=len(own))
        hashes = np.fromiter(chain.from_iterable(own), dtype=np.uint64, count=int(sizes.sum()))
        rows, places = _expanded(cut.pieces, cut.starts, sizes)
        return rows, hashes[places]

    def _words_of(self, cut: PiecesOfTexts, number: int) -> dict[str, int]:
        """Return how many of the skills have each word of the first fields."""
        import numpy as np

        starts = cut.starts[: _WORD_FIELDS * number + 1]
        pieces, short = np.unique(cut.pieces[: starts[-1]], return_inverse=True)
        own = [_known(self._words, cut.distinct[piece], _piece_words) for piece in pieces.tolist()]
        sizes = np.fromiter(map(len, own), dtype=np.int64, count=len(own))
        numbers: dict[str, int] = {}
        of_pieces = [numbers.setdefault(word, len(numbers)) for words in own for word in words]
        rows, places = _expanded(short, starts, sizes)
        words = np.array(of_pieces, dtype=np.int64)[places]
        pairs = np.unique(rows % max(1, number) << 32 | words)
        having = np.bincount(pairs & 0xFFFF_FFFF, minlength=len(numbers))
        return dict(zip(numbers, having.tolist(), strict=True))


def _expanded(pieces: NDArray[Any], starts: NDArray[Any], sizes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the text of each part of each piece, and where that part is among all parts of distinct pieces.

    A distinct piece has so many parts as `sizes` says; text `i` has the `pieces[starts[i]:starts[i + 1]]`.
    """
    import numpy as np

    begins = np.cumsum(sizes) - sizes
    times = sizes[pieces]
    before = np.cumsum(times) - times
    places = np.repeat(begins[pieces] - before, times) + np.arange(int(times.sum()))
    rows = np.repeat(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), times)
    return rows, places


def _piece_hashes(piece: bytes) -> tuple[int, ...]:
    return tuple(map(_crc, piece_terms(piece)))


def _piece_text(piece: bytes) -> str:
    return " ".join(piece_terms(piece))


def _all_marked(short_fields: Sequence[str]) -> Iterator[str]:
    return (
        mark + term for mark, text in zip(MARKS.values(), short_fields, strict=True) for term in text.split(" ") if term
    )


def marked(terms: Sequence[str], fields: Collection[str]) -> list[str]:
    """Return what to ask the full-text column for, so that skills with one of the terms in one of the fields are found.

    The body has no marks: with it, the terms are asked for as they are, in whatever field.
    """
    if not MARKS.keys() >= set(fields):
        return list(terms)
    return [mark + term for field, mark in MARKS.items() if field in fields for term in terms]


def _piece_words(piece: bytes) -> tuple[str, ...]:
    return tuple(piece_words(piece))


def _texts(given: tuple[Skill, str]) -> tuple[str, ...]:
    skill, body = given
    return skill.name, skill.description, " ".join(skill.tags), skill.category or "", body[:_BODY_CHARACTERS]


def _firsts(keys: NDArray[Any]) -> NDArray[Any]:
    """Return where each of the sorted keys occurs first."""
    import numpy as np

    is_first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def _known(known: dict[bytes, _Known], piece: bytes, learn: Callable[[bytes], _Known]) -> _Known:
    found = known.get(piece)
    if found is None:
        found = learn(piece)
        # Longer pieces seldom occur again. Beginning anew costs less than noting which was used when.
        if len(piece) <= _KEPT_BYTES:
            if len(known) >= _KEPT_PIECES:
                known.clear()
            known[piece] = found
    return found


def short_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the folded words of `texts` that are long enough to be misspelt, and runs of unspaced text."""
    return frozenset(word for text in texts for word in long_words(tokens(text)))


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
