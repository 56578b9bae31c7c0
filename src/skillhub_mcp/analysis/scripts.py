"""Scripts: which are written without spaces between words, and how accents and case are folded. Pure."""

from __future__ import annotations

import re
import unicodedata

# Han, kana and Hangul: two characters make most words. Thai, Lao, Khmer and Burmese: three.
PAIRED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
TRIPLED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
# Signs that belong to the letter before them, in scripts where they are no letters themselves.
_INDIC = "\u0900-\u0dff"
MARKS = f"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed{_INDIC}"
_IS_INDIC = re.compile(f"[{_INDIC}]")
UNSPACED = re.compile(f"[{PAIRED}]+|[{TRIPLED}]+")


def fold_marks(word: str) -> str:
    """Return `word` in lower case and without accents."""
    if word.isascii():
        return word.lower()
    bare = "".join(
        character
        for character in unicodedata.normalize("NFKD", word.casefold())
        # In the scripts of India they are the vowels.
        if not unicodedata.combining(character) or _IS_INDIC.match(character)
    )
    return unicodedata.normalize("NFC", bare)
