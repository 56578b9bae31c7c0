"""Query parsing: a text becomes clauses, each of which any of several alternatives satisfies. Pure.

1. A word as typed has full weight; an alternative to it has less, and never adds to it.
2. A word that a text has n times counts 1 + log n. Of a long text the rarest words count, wherever they stand.
3. A word in another language has its English translations as alternatives; without any it stands for itself, and if no
   skill has it, it is `untranslated`: the skills may have what it means.
4. In a short text, a word that no skill has is corrected as a misspelling. If it cannot be, it is `unknown`, so that a
   query of such words finds nothing that fits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple

from skillhub_mcp.analysis.analyzer import terms, token_terms, tokens
from skillhub_mcp.analysis.lexicon import TRANSLATED, languages, stop_word_languages, stop_words, translations
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks, is_word_alone, said_in
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.statistics import Statistics

# What is guessed counts less than what was written, or than the first meaning of what was.
_GUESSED = 0.8

_SHORTEST_COMPOUND = 9
_SHORTEST_INSIDE = 5
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
    """A parsed query: its clauses, the words that no skill has, and how many of the rarer ones were left out.

    `untranslated` are words of another language that no skill has, and that stand for no English ones here. It is
    `typed` unless it is so long that it must be pasted, and `foreign` in another language than English.
    """

    clauses: tuple[Clause, ...]
    unknown: tuple[str, ...] = ()
    left_out: int = 0
    untranslated: tuple[str, ...] = ()
    typed: bool = True
    foreign: bool = False

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Every term that can score, once."""
        found = (term for clause in self.clauses for choice in clause.alternatives for term in choice.terms)
        return tuple(dict.fromkeys(found))


class _Draft(NamedTuple):
    """A clause to be: a word as it was asked, how often, and what may stand for it, in any order."""

    asked: str
    times: int
    offers: Iterable[Alternative]


ALL_ORIGINS = frozenset(TermOrigin)


def parse_query(query: str, statistics: Statistics, *, origins: frozenset[TermOrigin] = ALL_ORIGINS) -> Query:
    """Parse a normalised query against the vocabulary of the skills, with alternatives of those `origins` only."""
    words, speller = tokens(query), statistics.speller
    said = Counter(map(fold_marks, words))
    distinct: dict[str, str] = {}
    for word in words:
        distinct.setdefault(fold_marks(word), word)
    language = _language(distinct, speller)
    typed = len(words) <= _MOST_TYPED_WORDS
    reader = _Reader(
        statistics,
        speller,
        language,
        english=not said.keys().isdisjoint(stop_words("en")),
        typed=typed,
    )
    runs = _read_runs(query, statistics, speller)
    drafts = [*runs.translated]
    done = stop_words(language) if language else frozenset()
    for folded, word in distinct.items():
        if UNSPACED.search(word):
            known = filter(statistics.frequency, (term for term in token_terms(word) if not UNSPACED.search(term)))
            drafts += map(_as_asked, known)
        elif folded not in done and token_terms(word):
            drafts.append(_Draft(word, said[folded], reader.offers(word, folded)))
    found = _query([*drafts, *runs.known], statistics, origins)
    # That a word has no translation here says little about what the skills have.
    unknown, untranslated = found.unknown, runs.unknown
    if language is not None:
        unknown, untranslated = (), (*unknown, *untranslated)
    foreign = language is not None or bool(runs.translated)
    return replace(found, unknown=unknown, untranslated=untranslated, typed=typed, foreign=foreign)


def _language(words: Mapping[str, str], speller: Speller) -> str | None:
    """Return the language whose stop words outnumber the English ones among `words`, by what they fold to, or None.

    One stop word alone says little (`AI`, `per`): then another word must have a translation and occur in no skill.
    """
    folded = [one for one, word in words.items() if not word.isupper()]
    hits = Counter(language for word in folded for language in stop_word_languages(word))
    best = max(languages(), key=hits.__getitem__)
    if hits[best] <= hits["en"]:
        return None
    foreign = (translations().of_word(word) and not speller.knows(word) for word in folded)
    return best if hits[best] > 1 or any(foreign) else None


class _Runs(NamedTuple):
    """Unspaced text in parts: drafts for translated parts, drafts for terms that skills have, and unknown words."""

    translated: Sequence[_Draft]
    known: Sequence[_Draft]
    unknown: tuple[str, ...]


def _read_runs(query: str, statistics: Statistics, speller: Speller) -> _Runs:
    translated: list[_Draft] = []
    # What lies across the end of a translated word is no word, and what only joins words says nothing.
    others: dict[str, None] = {}
    runs = UNSPACED.findall(query)
    for run in runs:
        for part, meanings in translations().parts_of_run(run):
            if meanings:
                translated.append(_Draft(part, 1, _offers_of_part(part, meanings, statistics, speller)))
            else:
                others.update(dict.fromkeys(said_in(part)))
    if not translated and not others:
        # Then that is all there is.
        others.update(dict.fromkeys(runs))
    having = {word: [*filter(statistics.frequency, token_terms(word))] for word in others}
    known = dict.fromkeys(term for own in having.values() for term in own)
    unknown = tuple(word for word, own in having.items() if not own and is_word_alone(word))
    return _Runs(translated, [*map(_as_asked, known)], unknown)


def _offers_of_part(
    part: str, meanings: Sequence[str], statistics: Statistics, speller: Speller
) -> Iterator[Alternative]:
    """Yield what a translated part of unspaced text may mean: itself, where skills have it, and its translations."""
    own = token_terms(part)
    if all(map(statistics.frequency, own)):
        yield Alternative(own, 1.0, TermOrigin.ASKED, part)
    # Skills described in the language of the query come before its English translation.
    yield from _meanings(meanings, _GUESSED if speller.describes(part) else 1.0)


def _as_asked(term: str) -> _Draft:
    return _Draft(term, 1, [Alternative((term,), 1.0, TermOrigin.ASKED, term)])


def _meanings(meanings: Sequence[str], first: float = 1.0) -> Iterator[Alternative]:
    for number, text in enumerate(meanings):
        yield Alternative(tuple(terms(text)), _GUESSED if number else first, TermOrigin.TRANSLATION, text)


@dataclass(frozen=True)
class _Reader:
    """What a word may mean in a query: in a `language` other than English, with an `english` stop word, and `typed`."""

    statistics: Statistics
    speller: Speller
    language: str | None
    english: bool
    typed: bool

    def offers(self, word: str, folded: str) -> Iterator[Alternative]:
        """Yield what a word may mean, first of all itself."""
        wanted = token_terms(word)
        known = [term for term in wanted if self.statistics.frequency(term)]
        described = self.speller.knows(folded)
        for term in known:
            yield Alternative((term,), 1.0, TermOrigin.ASKED, word)
        foreign = self.language is not None or not (self.english or known or described)
        if foreign:
            for meanings in translations().of_word(folded):
                yield from _meanings(meanings)
            if self.language == "de" and len(folded) >= _SHORTEST_COMPOUND:
                for meanings in translations().inside(folded, shortest=_SHORTEST_INSIDE):
                    yield from _meanings(meanings, _GUESSED)
        rare = all(self.statistics.frequency(term) < _RARE for term in wanted)
        # Without translations, a name or a loanword with an ending of its language is found by what it is near to.
        if self.typed and self.language not in TRANSLATED and rare and not described:
            for near in self.speller.near(folded):
                yield Alternative(tuple(terms(near)), _GUESSED, TermOrigin.SPELLING, near)


def _query(drafts: Sequence[_Draft], statistics: Statistics, origins: frozenset[TermOrigin]) -> Query:
    """Return the drafts as a query: the rarest clauses in their order, each set of alternatives once."""
    asked: dict[frozenset[tuple[str, ...]], tuple[str, tuple[Alternative, ...]]] = {}
    times: Counter[frozenset[tuple[str, ...]]] = Counter()
    unknown: dict[str, None] = {}
    for draft in drafts:
        choices: dict[tuple[str, ...], Alternative] = {}
        for offer in draft.offers:
            known = choices.get(offer.terms)
            if offer.terms and offer.origin in origins and (known is None or known.weight < offer.weight):
                choices[offer.terms] = offer
        if choices:
            # Of one term in several forms, such as `test` and `tests`, each counts.
            key = frozenset(choices)
            asked.setdefault(key, (draft.asked, tuple(choices.values())))
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
