"""The word lists that ship with the package: stop words and translations, read when first needed.

They are small on purpose: the vocabulary of tasks and skills, not a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data

from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks

# A word of a text begins with a listed one and goes on for at most this many letters: inflection, not another word.
_INFLECTION = 4
_SHORTEST_PREFIX = 3
# The languages with stop words whose words are translated. Of others the stop words alone are known.
TRANSLATED = frozenset({"de", "es", "fr", "pt", "it", "ru"})


@dataclass(frozen=True, slots=True)
class Translations:
    """English words by their translations: `runs` of unspaced scripts, and `beginnings` of words.

    `longest` is the length of the longest run. `beginnings` are grouped by their first three letters.
    """

    runs: Mapping[str, Sequence[str]]
    longest: int
    beginnings: Mapping[str, Sequence[tuple[str, Sequence[str]]]]

    def of_word(self, word: str) -> list[Sequence[str]]:
        """Return the meanings of a folded word: those of the longest listed beginning."""
        best: list[tuple[str, Sequence[str]]] = []
        for beginning, english in self.beginnings.get(word[:_SHORTEST_PREFIX], ()):
            if word.startswith(beginning) and len(word) - len(beginning) <= _INFLECTION:
                if best and len(beginning) > len(best[0][0]):
                    best = []
                if not best or len(beginning) == len(best[0][0]):
                    best.append((beginning, english))
        return [english for _, english in best]

    def inside(self, word: str, *, shortest: int) -> list[Sequence[str]]:
        """Return the meanings of the listed beginnings that occur inside a compound, after its first letter."""
        return [
            english
            for at in range(1, len(word) - shortest + 1)
            for beginning, english in self.beginnings.get(word[at : at + _SHORTEST_PREFIX], ())
            if len(beginning) >= shortest and word.startswith(beginning, at)
        ]

    def parts_of_run(self, run: str) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield a run of unspaced text in parts, the listed ones with their meanings.

        At each position the longest wins. What lies between two of those has no meaning.
        """
        begin = at = 0
        while at < len(run):
            for size in range(min(self.longest, len(run) - at), 0, -1):
                english = self.runs.get(run[at : at + size])
                if english is not None:
                    if begin < at:
                        yield run[begin:at], ()
                    yield run[at : at + size], english
                    begin = at = at + size
                    break
            else:
                at += 1
        if begin < at:
            yield run[begin:at], ()


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of `language`."""
    return _all_stop_words()[language]


def languages() -> Iterator[str]:
    """Yield the languages with stop words, except English."""
    return (language for language in _all_stop_words() if language != "en")


def stop_word_languages(word: str) -> Sequence[str]:
    """Return the languages in which a folded word is a stop word."""
    return _languages_of_stop_words().get(word, ())


@cache
def translations() -> Translations:
    """Return the translations of English words from other languages."""
    runs: dict[str, list[str]] = {}
    beginnings: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for line in _lines("translations.txt"):
        english, others = line.split(" = ")
        meanings = _parts(english)
        for other in _parts(others):
            if UNSPACED.search(other):
                known = runs.setdefault(other.lower(), [])
                known += [word for word in meanings if word not in known]
            else:
                word = fold_marks(other)
                beginnings.setdefault(word[:_SHORTEST_PREFIX], []).append((word, meanings))
    return Translations(runs, max(map(len, runs)), beginnings)


@cache
def _all_stop_words() -> Mapping[str, frozenset[str]]:
    by_language = (line.split(" = ") for line in _lines("stopwords.txt"))
    return {language: frozenset(map(fold_marks, words.split())) for language, words in by_language}


@cache
def _languages_of_stop_words() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for language, words in _all_stop_words().items():
        for word in words:
            found.setdefault(word, []).append(language)
    return found


def _lines(name: str) -> Iterator[str]:
    # Not `importlib.resources`, which loads zipfile and tempfile for it: a first search would wait for them.
    text = (get_data("skillhub_mcp.analysis", f"words/{name}") or b"").decode()
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _parts(line: str) -> list[str]:
    return [part.strip() for part in line.split(",")]
