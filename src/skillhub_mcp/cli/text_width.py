"""How many columns of a terminal a text takes, and cutting and padding by columns. Pure.

議 takes two columns, an accent that joins the letter before it none.
"""

from __future__ import annotations

import unicodedata

_ELLIPSIS = "…"
_NO_COLUMN = frozenset(("Mn", "Me", "Cf"))
_WIDE = frozenset("WF")
# Vowels and finals of Hangul, which join the syllable before them.
_JOINING_HANGUL = range(0x1160, 0x1200)
# Asks for the character before it to be shown as an emoji, which takes two columns.
_AS_EMOJI = "\ufe0f"


def width(text: str) -> int:
    """Return the columns that one line of `text` takes."""
    if text.isascii():
        return len(text)
    taken, last = 0, 0
    for character in text:
        if character == _AS_EMOJI:
            taken += last == 1
            last = 0
            continue
        last = _columns(character)
        taken += last
    return taken


def cut(text: str, columns: int) -> str:
    """Return one line of `text` if it fits in `columns`, else its beginning and an ellipsis, together as wide."""
    if columns < 1:
        return ""
    if width(text) <= columns:
        return text
    taken = 0
    for at, character in enumerate(text):
        taken += 2 if character == _AS_EMOJI else _columns(character)
        if taken > columns - len(_ELLIPSIS):
            return text[:at].rstrip() + _ELLIPSIS
    return text


def pad(text: str, columns: int) -> str:
    """Return `text` with spaces after it, so that it takes at least `columns`."""
    return text + " " * (columns - width(text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_COLUMN or ord(character) in _JOINING_HANGUL:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
