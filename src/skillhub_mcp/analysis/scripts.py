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
# Hiragana write endings and particles, beside words that are seldom all there is of a task; of Han, these are the
# pronouns, particles, auxiliaries and question words of Chinese.
_JOINING = re.compile(
    "[\u3041-\u309f]+|什么|怎么|怎样|哪个|哪些|哪里|一下|看看|能不能|可以|已经|但是|因为|所以|如果|就是|还是|没有|不要|不是"
    "|[的了是在我你他她它们这那有哪吗呢吧啊把被想要能会不没和跟与就都也还很给让对从到里上下个么]"
)
# A Korean word has its particles in the same letters, and Thai has no word apart from the next.
_WORDS_ALONE = re.compile("[\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
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


def said_in(run: str) -> list[str]:
    """Return what says something in a run of unspaced text, without what only joins or asks and odd letters."""
    return [word for word in _JOINING.split(run) if len(word) > 1]


def is_word_alone(text: str) -> bool:
    """Whether unspaced text is written in signs that write words, not what is added to them."""
    return _WORDS_ALONE.fullmatch(text) is not None
