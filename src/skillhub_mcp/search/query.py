"""Query parsing: a text becomes clauses, each of which any of several alternatives satisfies. Pure.

1. A word as typed has full weight; an alternative to it has less, and never adds to it.
2. A word that a text has n times counts 1 + log n. Of a long text the rarest words count, wherever they stand.
3. A word in another language has its English translations as alternatives; without any it stands for itself.
4. In a short text, a word that no skill has is corrected as a misspelling, or split into two words. If neither works,
   it is `unknown`, so that a query of such words finds nothing that fits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from heapq import nlargest

from skillhub_mcp.analysis.analyzer import terms, token_terms, tokens
from skillhub_mcp.analysis.lexicon import languages, stop_word_languages, stop_words, translations
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.statistics import Statistics

_FIRST_MEANING = 1.0
_FURTHER_MEANING = 0.8
_INSIDE_A_COMPOUND = 0.8
_BESIDE_ITSELF = 0.6
_CORRECTED = 0.8

_SHORTEST_COMPOUND = 9
_SHORTEST_INSIDE = 5
_SHORTEST_FOREIGN = 3
# A word that so few bodies have, and no description, may be a misspelling in those skills too.
_RARE = 5
# Longer texts are pasted, not typed: what no skill has in them is a name or a number.
_MOST_TYPED_WORDS = 40
# So many words of a text are asked for; more of them add nothing (docs/benchmarks.md).
MOST_CLAUSES = 100


class TermOrigin(str, Enum):
    """How an alternative follows from what was written."""

    ASKED = "asked"
    TRANSLATION = "translation"
    SPELLING = "spelling"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Terms of which a skill must have all, the weight of having them, and the text that they come from."""

    terms: tuple[str, ...]
    weight: float
    origin: TermOrigin
    text: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One word of a query as `asked`, its alternatives, and its `weight` by how often it was said."""

    asked: str
    alternatives: tuple[Alternative, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Query:
    """A parsed query: its clauses, the words that no skill has, and how many of the rarer ones were left out."""

    clauses: tuple[Clause, ...]
    unknown: tuple[str, ...] = ()
    left_out: int = 0

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Every term that can score, once."""
        found = (term for clause in self.clauses for choice in clause.alternatives for term in choice.terms)
        return tuple(dict.fromkeys(found))


@dataclass
class _Draft:
    asked: str
    times: int = 1
    alternatives: dict[tuple[str, ...], Alternative] = field(default_factory=dict)

    def offer(self, text: str, weight: float, origin: TermOrigin, wanted: Sequence[str] | None = None) -> None:
        found = tuple(terms(text) if wanted is None else wanted)
        known = self.alternatives.get(found)
        if found and (known is None or known.weight < weight):
            self.alternatives[found] = Alternative(found, weight, origin, text)

    def offer_meanings(self, meanings: Sequence[str], first: float = _FIRST_MEANING) -> None:
        for number, meaning in enumerate(meanings):
            self.offer(meaning, first if number == 0 else min(first, _FURTHER_MEANING), TermOrigin.TRANSLATION)


ALL_ORIGINS = frozenset(TermOrigin)


def parse_query(
    query: str, statistics: Statistics, speller: Speller, *, origins: frozenset[TermOrigin] = ALL_ORIGINS
) -> Query:
    """Parse a normalised query against the vocabulary of the skills, with alternatives of those `origins` only."""
    words = tokens(query)
    said = Counter(map(fold_marks, words))
    distinct = _distinct(words)
    language = _language(distinct, speller)
    typed = len(words) <= _MOST_TYPED_WORDS
    drafts = [*_translated(query, language, speller)]
    translated = {word for draft in drafts for word in draft.asked.split()} if language else set()
    english = not said.keys().isdisjoint(stop_words("en"))
    for word in distinct:
        folded = fold_marks(word)
        if UNSPACED.search(word):
            drafts += _of_unspaced(word, statistics)
        elif language is None or word.isupper() or folded not in stop_words(language) | translated:
            draft = _Draft(word, said[folded])
            if _offer_word(draft, folded, language, statistics, speller, english=english, typed=typed):
                drafts.append(draft)
    query_of = _query(drafts, statistics, origins)
    # That a word has no translation here says nothing about what the skills have.
    return query_of if language is None else replace(query_of, unknown=())


def _distinct(words: Sequence[str]) -> list[str]:
    """Return the words in their order, each as it is written first."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(fold_marks(word), word)
    return list(first.values())


def _language(words: Sequence[str], speller: Speller) -> str | None:
    """Return the language whose stop words outnumber the English ones among `words`, or None.

    One stop word alone says little (`AI`, `per`): then another word must have a translation and occur in no skill.
    """
    folded = [fold_marks(word) for word in words if not word.isupper()]
    hits = Counter(language for word in folded for language in stop_word_languages(word))
    best = max(languages(), key=hits.__getitem__)
    if hits[best] <= hits["en"]:
        return None
    foreign = (translations().of_word(word) and not speller.knows(word) for word in folded)
    return best if hits[best] > 1 or any(foreign) else None


def _translated(query: str, language: str | None, speller: Speller) -> Iterator[_Draft]:
    """Yield drafts for the translations of unspaced text and of phrases."""
    for run in UNSPACED.findall(query):
        for found, meanings in translations().in_run(run):
            draft = _Draft(found)
            # Skills described in the language of the query come before its English translation.
            draft.offer_meanings(meanings, _BESIDE_ITSELF if speller.describes(found) else _FIRST_MEANING)
            yield draft
    if language is None:
        return
    folded = fold_marks(query)
    for phrase, meanings in translations().phrases:
        if phrase in folded:
            draft = _Draft(phrase)
            draft.offer_meanings(meanings)
            yield draft


def _of_unspaced(word: str, statistics: Statistics) -> Iterator[_Draft]:
    """Yield drafts for the terms of a word in an unspaced script that some skill has."""
    for term in token_terms(word):
        if statistics.frequency(term):
            draft = _Draft(term)
            draft.offer(term, 1.0, TermOrigin.ASKED, [term])
            yield draft


def _offer_word(
    draft: _Draft,
    folded: str,
    language: str | None,
    statistics: Statistics,
    speller: Speller,
    *,
    english: bool,
    typed: bool,
) -> bool:
    """Offer what a word may mean; False for a word that is no term, such as `the`."""
    wanted = token_terms(draft.asked)
    known = [term for term in wanted if statistics.frequency(term)]
    foreign = language is not None or not (english or known or speller.knows(folded))
    if foreign and len(folded) >= _SHORTEST_FOREIGN:
        for meanings in translations().of_word(folded):
            draft.offer_meanings(meanings)
        if language == "de" and len(folded) >= _SHORTEST_COMPOUND:
            for meanings in translations().inside(folded, shortest=_SHORTEST_INSIDE):
                draft.offer_meanings(meanings, _INSIDE_A_COMPOUND)
    for term in known:
        draft.offer(draft.asked, 1.0, TermOrigin.ASKED, [term])
    misspelt = typed and language is None and not speller.knows(folded)
    if misspelt and all(statistics.frequency(term) < _RARE for term in wanted):
        _offer_corrections(draft, folded, speller)
    return bool(wanted)


def _offer_corrections(draft: _Draft, word: str, speller: Speller) -> None:
    near = speller.near(word)
    for known in near:
        draft.offer(known, _CORRECTED, TermOrigin.SPELLING)
    parts = None if near else speller.parts(word)
    if parts is not None:
        draft.offer(" ".join(parts), _CORRECTED, TermOrigin.SPELLING)


def _query(drafts: Sequence[_Draft], statistics: Statistics, origins: frozenset[TermOrigin]) -> Query:
    """Return the drafts as a query: the rarest clauses in their order, each set of alternatives once."""
    asked: dict[frozenset[tuple[str, ...]], tuple[str, tuple[Alternative, ...]]] = {}
    times: Counter[frozenset[tuple[str, ...]]] = Counter()
    unknown: dict[str, None] = {}
    for draft in drafts:
        alternatives = tuple(choice for choice in draft.alternatives.values() if choice.origin in origins)
        if alternatives:
            # Of one term in several forms, such as `test` and `tests`, each counts.
            key = frozenset(choice.terms for choice in alternatives)
            asked.setdefault(key, (draft.asked, alternatives))
            times[key] += draft.times
        else:
            unknown.setdefault(draft.asked)
    clauses = [Clause(*own, 1.0 + math.log(times[key])) for key, own in asked.items()]

    def rarity(clause: Clause) -> float:
        return clause.weight * max(statistics.rarity(term) for choice in clause.alternatives for term in choice.terms)

    kept = clauses
    if len(kept) > MOST_CLAUSES:
        rarest = set(map(id, nlargest(MOST_CLAUSES, kept, key=rarity)))
        kept = [clause for clause in kept if id(clause) in rarest]
    return Query(tuple(kept), tuple(unknown), len(clauses) - len(kept))
