"""Which letters are alike, and which are written without blanks between words?"""

from __future__ import annotations

import re
import unicodedata

# Han, kana and Hangul: two characters make most words. Thai, Lao, Khmer and Burmese: three.
PAIRED = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
TRIPLED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
UNSPACED = re.compile(f"[{PAIRED}]+|[{TRIPLED}]+")


def fold(word: str) -> str:
    """Return `word` in lower case and without accents."""
    if word.isascii():
        return word.lower()
    bare = "".join(
        character
        for character in unicodedata.normalize("NFKD", word.casefold())
        if not unicodedata.combining(character)
    )
    return unicodedata.normalize("NFC", bare)
