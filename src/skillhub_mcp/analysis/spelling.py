"""Spelling correction for query words that occur in no skill."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from skillhub_mcp.analysis.scripts import UNSPACED

_SHORTEST = 4
# A word of seven letters may have one wrong, a longer one two: "strudel" is not "stride".
_ONE_MISTAKE_UP_TO = 7
_MOST_NEAR = 2


class Speller:
    """Corrects words to those in names, descriptions and tags. `words` counts the skills that have each."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self._words = words

    def knows(self, word: str) -> bool:
        """Whether a skill has the folded `word` in its name, description or tags."""
        return word in self._words

    def describes(self, text: str) -> bool:
        """Whether a skill has the unspaced `text` in its name, description or tags, alone or inside a longer run."""
        return any(text in run for run in self._unspaced)

    def near(self, word: str) -> list[str]:
        """Return the nearest known words, at most two, the most frequent first.

        Distance counts letters left out, added, changed or swapped; the first letter is assumed to be right.
        """
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extract

        if len(word) < _SHORTEST or not word.isalpha():
            return []
        mistakes = 1 if len(word) <= _ONE_MISTAKE_UP_TO else 2
        found = extract(word, self._by_letter.get(word[0], ()), scorer=OSA.distance, score_cutoff=mistakes, limit=None)
        fewest = min((distance for _, distance, _ in found), default=0)
        nearest = [known for known, distance, _ in found if distance == fewest]
        return sorted(nearest, key=lambda known: (-self._words[known], known))[:_MOST_NEAR]

    @cached_property
    def _unspaced(self) -> list[str]:
        return [word for word in self._words if UNSPACED.search(word)]

    @cached_property
    def _by_letter(self) -> Mapping[str, list[str]]:
        by_letter: dict[str, list[str]] = {}
        for known in self._words:
            by_letter.setdefault(known[0], []).append(known)
        return by_letter
