"""The analyser: turns text into terms, the same way for queries and documents and in every script. Pure.

1. A term is a run of letters, combining marks and digits: NFKC, lower case, without accents, English words stemmed.
   `C#`, `F#` and `C++` stay whole; kebab, snake and dotted names are split, camelCase names
   are kept whole and also split.
2. Scripts without spaces between words have no agreed word boundaries: their terms are overlapping runs of two
   characters (three in Thai, Lao, Khmer and Burmese), which match a word inside any compound, and a Korean noun with
   any particle. A shorter run is its own term.
3. English stop words are never terms.
4. What cannot be seen, such as a soft hyphen, does not divide a word of a name, a description or a query.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from skillhub_mcp.analysis.lexicon import stop_words
from skillhub_mcp.analysis.scripts import MARKS, TRIPLED, UNSPACED, fold_marks
from skillhub_mcp.sanitize import without_hidden

MAX_QUERY_CHARACTERS = 65_536
MAX_TERM_CHARACTERS = 64

_TOKEN = re.compile(rf"[cCfF]#|[cC]\+\+|[^\W_]+(?:[{TRIPLED}{MARKS}]+[^\W_]*)*|[{TRIPLED}]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s\b)[a-z])")
_IS_TRIPLED = re.compile(f"[{TRIPLED}]")
# Names, descriptions and queries are; few bodies.
_SHORT = 4_096
_CACHED_TOKENS = 8_000
_CACHED_CHARACTERS = 32
_SHORTEST_STEMMED = 3
_VOWEL = re.compile("[aeiouy]")

_SHORTEST_WORD = 3

TermCache = dict[str, tuple[str, ...]]

_stemmer_lock = threading.Lock()


def normalise_query(text: str) -> str:
    """Return `text` in NFKC with blanks collapsed, at most 65,536 characters."""
    # Cut before, to bound the work, and after, because a character may become many.
    normal = unicodedata.normalize("NFKC", text[:MAX_QUERY_CHARACTERS])[:MAX_QUERY_CHARACTERS]
    return " ".join(normal.replace("\0", " ").split())


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, repeated as often as they occur."""
    return [term for token in tokens(text) for term in token_terms(token)]


def term_counts(text: str, known: TermCache) -> Counter[str]:
    """Return how often each term occurs in `text`. `known` are the terms of tokens; it gets those of this text."""
    counts: dict[str, int] = {}
    before = counts.get
    for token, times in Counter(tokens(text)).items():
        if token not in known:
            known[token] = token_terms(token)
        for term in known[token]:
            counts[term] = before(term, 0) + times
    return Counter(counts)


def tokens(text: str) -> list[str]:
    """Return the words of `text` as they are written, in NFKC; of a short text, without what cannot be seen in them."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        # To look for it in long bodies would take a third of the time of analysing them.
        text = without_hidden(text) if len(text) <= _SHORT else text
    return _TOKEN.findall(text)


def long_words(text: str) -> list[str]:
    """Return the folded words of `text` that are long enough to be misspelt, and its runs of unspaced text."""
    folded = map(fold_marks, tokens(text))
    return [word for word in folded if len(word) >= _SHORTEST_WORD or UNSPACED.search(word)]


def token_terms(token: str) -> tuple[str, ...]:
    """Return the terms of one token."""
    if UNSPACED.search(token):
        return tuple(_mixed(token))
    # Longer tokens seldom occur again, and would fill the cache.
    return _token_terms(token) if len(token) <= _CACHED_CHARACTERS else _token_terms.__wrapped__(token)


@lru_cache(maxsize=_CACHED_TOKENS)
def _token_terms(token: str) -> tuple[str, ...]:
    whole = fold_marks(token)
    found = [] if whole in stop_words("en") else [stem(whole)]
    parts = _CAMEL.split(token) if not (token.isupper() or token.islower()) else []
    if len(parts) > 1:
        folded = (fold_marks(part) for part in parts)
        found += [stem(part) for part in folded if len(part) > 1 and part not in stop_words("en")]
    return tuple(found)


@lru_cache(maxsize=_CACHED_TOKENS)
def stem(word: str) -> str:
    """Return the stem of an English word, and other words as they are (Snowball's English stemmer)."""
    if len(word) > MAX_TERM_CHARACTERS:
        return word[:MAX_TERM_CHARACTERS]
    if len(word) < _SHORTEST_STEMMED or not (word.isascii() and word.isalpha()):
        return word
    if len(word) > _SHORTEST_STEMMED and word[-1] == "s" and word[-2] != "s" and not _VOWEL.search(word):
        # The stemmer does not recognise the plural of an abbreviation.
        return word[:-1]
    # The stemmer keeps its current word in itself.
    with _stemmer_lock:
        return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from Stemmer import Stemmer

    # Without a cache of its own: `stem` has one.
    return Stemmer("english", 0)


def _mixed(token: str) -> Iterator[str]:
    """Yield the terms of a token that has characters of an unspaced script."""
    at = 0
    for run in UNSPACED.finditer(token):
        if run.start() > at:
            yield from token_terms(token[at : run.start()])
        yield from _grams(run.group())
        at = run.end()
    if at < len(token):
        yield from token_terms(token[at:])


def _grams(run: str) -> Iterator[str]:
    size = 3 if _IS_TRIPLED.match(run) else 2
    if len(run) <= size:
        yield run
    else:
        for start in range(len(run) - size + 1):
            yield run[start : start + size]
