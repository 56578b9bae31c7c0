"""Query parsing: a text becomes clauses, each of which any of several alternatives satisfies. Pure.

1. A word as typed has full weight; an alternative to it has less, and never adds to it.
2. A word in another language has its English translations as alternatives; without any it stands for itself.
3. A word that no skill has is corrected as a misspelling, or split into two words. If neither works, its clause stays
   without alternatives, so that a query of such words finds nothing that fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from itertools import pairwise

from skillhub_mcp.analysis.analyzer import stem, terms, token_terms, tokens
from skillhub_mcp.analysis.lexicon import languages, stop_word_languages, stop_words, synonym_groups, translations
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.statistics import Statistics

# Measured on the development queries; docs/benchmarks.md shows what each kind of alternative adds.
_FIRST_MEANING = 1.0
_FURTHER_MEANING = 0.8
_INSIDE_A_COMPOUND = 0.8
_BESIDE_ITSELF = 0.6
_SYNONYM = 0.6
_CORRECTED = 0.8
_JOINED = 0.6

_LONGEST_PHRASE = 3
_SHORTEST_COMPOUND = 9
_SHORTEST_INSIDE = 5
_SHORTEST_FOREIGN = 3
_SHORTEST_JOINED = 7
# A word that so few bodies have, and no description, may be a misspelling in those skills too.
_RARE = 5
_MOST_CLAUSES = 60


class TermOrigin(str, Enum):
    """How an alternative follows from what was written."""

    ASKED = "asked"
    SYNONYM = "synonym"
    TRANSLATION = "translation"
    SPELLING = "spelling"
    JOINED = "joined"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Terms of which a skill must have all, the weight of having them, and the text that they come from."""

    terms: tuple[str, ...]
    weight: float
    origin: TermOrigin
    text: str


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of a query as `asked`, and its alternatives; without any, nothing satisfies it."""

    asked: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class Query:
    """A parsed query: its clauses, and the pairs of adjacent terms."""

    clauses: tuple[Clause, ...]
    phrases: tuple[tuple[str, str], ...]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Every term that can score, once."""
        found = (term for clause in self.clauses for choice in clause.alternatives for term in choice.terms)
        return tuple(dict.fromkeys(found))


@dataclass
class _Draft:
    asked: str
    wanted: tuple[str, ...] = ()
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
    language = _language(words, speller)
    english = any(fold_marks(word) in stop_words("en") for word in words)
    drafts = [*_translated(query, language, speller)]
    translated = {word for draft in drafts for word in draft.asked.split()} if language else set()
    for word in words:
        if UNSPACED.search(word):
            drafts += _of_unspaced(word, statistics)
        elif language is None or word.isupper() or fold_marks(word) not in stop_words(language) | translated:
            drafts += _of_word(word, language, statistics, speller, english=english)
    asked = [term for word in words for term in token_terms(word)]
    _offer_synonyms(asked, drafts)
    _offer_joined(words, drafts, statistics)
    return Query(_clauses(drafts, origins), tuple(dict.fromkeys(pairwise(asked))))


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


def _of_word(
    word: str, language: str | None, statistics: Statistics, speller: Speller, *, english: bool
) -> Iterator[_Draft]:
    wanted = token_terms(word)
    if not wanted:
        return
    folded = fold_marks(word)
    draft = _Draft(word, wanted)
    known = [term for term in wanted if statistics.frequency(term)]
    foreign = language is not None or not (english or known or speller.knows(folded))
    if foreign and len(folded) >= _SHORTEST_FOREIGN:
        for meanings in translations().of_word(folded):
            draft.offer_meanings(meanings)
        if language == "de" and len(folded) >= _SHORTEST_COMPOUND:
            for meanings in translations().inside(folded, shortest=_SHORTEST_INSIDE):
                draft.offer_meanings(meanings, _INSIDE_A_COMPOUND)
    for term in known:
        draft.offer(word, 1.0, TermOrigin.ASKED, [term])
    if not speller.knows(folded) and language is None and all(statistics.frequency(term) < _RARE for term in wanted):
        _correct(draft, folded, speller)
    yield draft


def _correct(draft: _Draft, word: str, speller: Speller) -> None:
    near = speller.near(word)
    for known in near:
        draft.offer(known, _CORRECTED, TermOrigin.SPELLING)
    parts = None if near else speller.parts(word)
    if parts is not None:
        draft.offer(" ".join(parts), _CORRECTED, TermOrigin.SPELLING)


def _offer_synonyms(asked: Sequence[str], drafts: list[_Draft]) -> None:
    for size in range(_LONGEST_PHRASE, 0, -1):
        for at in range(len(asked) - size + 1):
            wanted = tuple(asked[at : at + size])
            others = _synonyms().get(wanted, ())
            if not others:
                continue
            draft = next((draft for draft in drafts if wanted == draft.wanted or wanted in draft.alternatives), None)
            if draft is None:
                draft = _Draft(" ".join(wanted))
                drafts.append(draft)
            for other in others:
                draft.offer(other, _SYNONYM, TermOrigin.SYNONYM)


def _offer_joined(words: Sequence[str], drafts: Sequence[_Draft], statistics: Statistics) -> None:
    """Offer the joined form of two adjacent words where skills write them as one."""
    for pair in pairwise(words):
        one = "".join(map(fold_marks, pair))
        if len(one) >= _SHORTEST_JOINED and not UNSPACED.search(one) and statistics.frequency(stem(one)):
            for draft in drafts:
                if draft.asked in pair:
                    draft.offer(one, _JOINED, TermOrigin.JOINED)


def _clauses(drafts: Sequence[_Draft], origins: frozenset[TermOrigin]) -> tuple[Clause, ...]:
    """Return the drafts as clauses, without duplicate sets of alternatives."""
    clauses: dict[tuple[str, frozenset[tuple[str, ...]]], Clause] = {}
    for draft in drafts:
        alternatives = tuple(choice for choice in draft.alternatives.values() if choice.origin in origins)
        key = ("" if alternatives else draft.asked, frozenset(choice.terms for choice in alternatives))
        clauses.setdefault(key, Clause(draft.asked, alternatives))
    return tuple(clauses.values())[:_MOST_CLAUSES]


@cache
def _synonyms() -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for group in synonym_groups():
        for word in group:
            known = found.setdefault(tuple(terms(word)), [])
            known += [other for other in group if other != word and other not in known]
    found.pop((), None)
    return found
