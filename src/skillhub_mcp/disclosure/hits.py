"""Decide how many hits of a search a model is shown, and how much of each description."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from skillhub_mcp.sanitize import for_model

# Above this first score, hits after the fifth below a share of it are left out.
_CLEAR = 0.9
_BESIDE = 0.6
_ALWAYS = 5

_WHOLE_HITS = 3
# The Agent Skills specification's bound for a description.
_WHOLE_CHARACTERS = 1_024
_BRIEF_CHARACTERS = 170
# A cut may end with a sentence from this share of the characters on.
_LEAST = 0.5
_MOST_LOOKED_AT = 8 * _WHOLE_CHARACTERS

# Not after one letter, as in `e.g.`, and not before a small one, as in `etc. of`.
_SENTENCE_END = re.compile(r"(?<![. ][A-Za-z])[.!?][)\"'\]]?(?= [^a-z ])|[。！？]")
_DANGLING = " ,:([{-–—/"
_ELLIPSIS = "…"


def shown(scores: Sequence[float]) -> int:
    """Return how many hits of those scores, best first, an answer has: fewer if the first clearly fits."""
    if len(scores) <= _ALWAYS or scores[0] < _CLEAR:
        return len(scores)
    return max(_ALWAYS, sum(score >= scores[0] * _BESIDE for score in scores))


def two_digits(score: float) -> float:
    """Return a score rounded down to two digits, so that a near miss does not read as a fit."""
    return math.floor(score * 100 + 1e-9) / 100


def descriptions(texts: Sequence[str], *, whole: int = _WHOLE_HITS) -> list[str]:
    """Return the descriptions of hits: `whole` ones up to 1,024 characters, others about 160."""
    sanitized = [for_model(text[:_MOST_LOOKED_AT]) for text in texts]
    full = [in_brief(text, _WHOLE_CHARACTERS) for text in sanitized]
    brief = [*full[:whole], *(in_brief(text, _BRIEF_CHARACTERS) for text in sanitized[whole:])]
    times = Counter(brief)
    return [text if times[text] == 1 else more for text, more in zip(brief, full, strict=True)]


def in_brief(text: str, most: int) -> str:
    """Return a line in at most so many characters, cut after a sentence in its second half, else after a word."""
    if len(text) <= most:
        return text
    room = most - len(_ELLIPSIS)
    least = int(room * _LEAST)
    ends = [found.end() for found in _SENTENCE_END.finditer(text[: room + 1]) if least <= found.end() < room]
    if ends:
        return f"{text[: ends[-1]]} {_ELLIPSIS}"
    blank = text.rfind(" ", least, room + 1)
    return text[: blank if blank >= 0 else room].rstrip(_DANGLING) + _ELLIPSIS
