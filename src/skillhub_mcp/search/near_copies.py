"""Near copies among hits: skills whose descriptions say nearly the same. Pure.

Forks differ by a few words that were added or polished. Templates differ by a word too: `azure-cosmos-py` and
`azure-cosmos-rust` say the same of Python and of Rust. The word decides which it is: one of a name, a number, or one
in the place of another means different skills.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from skillhub_mcp.analysis.analyzer import term_counts, tokens
from skillhub_mcp.skills.names import safe_alias

COMPARED_HITS = 20
_CACHED_TEXTS = 256
# Nine of ten terms, counted as often as they occur, are in both descriptions.
_SHARED_TERMS = 0.9
# A description of fewer terms says too little to be the same skill's under another name.
_FEWEST_TERMS = 6
_COMPARED_CHARACTERS = 2_048
# Such descriptions are about as long as each other and have most of their words, as they are written, in common.
_LENGTHS, _SHARED_WORDS = 0.75, 0.4
# A text whose words are longer on average has no blanks between them.
_LONGEST_WORDS = 12


class Candidate(NamedTuple):
    """A hit to compare, and the `rank` of its source: the lowest is the strongest."""

    name: str
    description: str
    rank: int = 0


def near_copies(hits: Sequence[Candidate]) -> list[list[int]]:
    """Return the groups of hits that say nearly the same, as positions in `hits`, which are best first.

    Groups are in the order of their best hits, most of them of one hit. In each, the hit to be shown comes first: the
    one of the strongest source, and of several such the best.
    """
    compared = hits[:COMPARED_HITS]
    texts = [hit.description[:_COMPARED_CHARACTERS] for hit in compared]
    pieces = [_pieces(text) for text in texts]
    groups: list[list[int]] = []
    for number, text in enumerate(texts):
        shortest, longest, own = len(text) * _LENGTHS, len(text) / _LENGTHS, pieces[number]
        for group in groups:
            other = group[0]
            # Nearly every pair ends at its lengths or here, before a word is analysed.
            if not shortest <= len(texts[other]) <= longest:
                continue
            shared = len(own & pieces[other])
            if shared < _SHARED_WORDS * (len(own) + len(pieces[other]) - shared):
                continue
            if _say_the_same(compared[other].name, texts[other], compared[number].name, text):
                group.append(number)
                break
        else:
            groups.append([number])
    shown = [sorted(group, key=lambda number: (hits[number].rank, number)) for group in groups]
    return [*shown, *([number] for number in range(len(compared), len(hits)))]


def _pieces(text: str) -> frozenset[str]:
    words = text.split()
    return frozenset(words if len(text) <= _LONGEST_WORDS * len(words) else map("".join, pairwise(text)))


def _say_the_same(name: str, text: str, other_name: str, other_text: str) -> bool:
    first, second = _terms(text), _terms(other_text)
    if text == other_text:
        least = 1 if safe_alias(name) == safe_alias(other_name) else _FEWEST_TERMS
        return first.total() >= least
    shared = (first & second).total()
    if not shared or shared < _SHARED_TERMS * (first.total() + second.total() - shared):
        return False
    added, removed = second - first, first - second
    if any(character.isdigit() for term in (*added, *removed) for character in term):
        return False
    if safe_alias(name) == safe_alias(other_name):
        return True
    if shared < _FEWEST_TERMS or (added and removed):
        return False
    telling = _words(name).keys() ^ _words(other_name).keys()
    one, other = _words(text), _words(other_text)
    return all(one[word] == other[word] for word in telling)


@lru_cache(maxsize=_CACHED_TEXTS)
def _terms(text: str) -> Counter[str]:
    # Templates that differ in a word are compared each with each.
    return term_counts(text, {})


@lru_cache(maxsize=_CACHED_TEXTS)
def _words(text: str) -> Counter[str]:
    """Count the terms and the words, which may be one that a search leaves out: `reply` is not `reply-all`."""
    return _terms(text) + Counter([token.casefold() for token in tokens(text)])
