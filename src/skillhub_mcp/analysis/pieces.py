"""Texts as bytes that can be cut at blanks without the analyser, for counting many of them at once. Pure.

A piece is what lies between two characters of ASCII that are no part of a word. Most pieces are one token, and the
same ones come again and again: whoever counts the pieces of many texts analyses each of them once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillhub_mcp.analysis.analyzer import normalised, token_terms, tokens_of_normalised
from skillhub_mcp.analysis.scripts import UNSPACED, fold_marks

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

# The only tokens with characters that divide others. Where a text may have one, its tokens are found as ever.
_BEFORE_SIGNS = tuple(b"cCfF")
# No text in UTF-8 has these bytes: they stand for the signs that are part of a token.
_SIGNS, _KEPT_SIGNS = b"#+", b"\xfe\xff"
_DIVIDED = bytes(byte if not chr(byte).isascii() or chr(byte).isalnum() else 0x20 for byte in range(256))
_KEEPING_SIGNS = bytes.maketrans(_SIGNS, _KEPT_SIGNS)
_WITH_SIGNS = bytes.maketrans(_KEPT_SIGNS, _SIGNS)
_SHORTEST_WORD = 3


def in_pieces(texts: Sequence[str]) -> tuple[bytes, NDArray[Any]]:
    """Return the texts one after the other, and where each begins and the last one ends.

    The pieces of a text, cut at blanks, have its tokens in their order.
    """
    import numpy as np

    normal = list(map(normalised, texts))
    encoded = [text.encode("utf-8", "surrogatepass") for text in normal]
    content, begins = _joined(encoded)
    with_signs = begins[1:].searchsorted(_signs(np.frombuffer(content, dtype=np.uint8)), side="right")
    for number in set(with_signs.tolist()):
        found = " ".join(tokens_of_normalised(normal[number]))
        encoded[number] = found.encode("utf-8", "surrogatepass").translate(_KEEPING_SIGNS)
    if len(with_signs):
        content, begins = _joined(encoded)
    return content.translate(_DIVIDED), begins


def _joined(texts: Sequence[bytes]) -> tuple[bytes, NDArray[Any]]:
    import numpy as np

    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=begins[1:])
    return b"".join(texts), begins


def _signs(content: NDArray[Any]) -> NDArray[Any]:
    """Return where a sign may be part of a token: after a letter that such tokens begin with."""
    import numpy as np

    at = ((content == ord("#")) | (content == ord("+"))).nonzero()[0]
    at = at[at > 0]
    found: NDArray[Any] = at[np.isin(content[at - 1], _BEFORE_SIGNS)]
    return found


def piece_terms(piece: bytes) -> list[str]:
    """Return the terms of one piece in order."""
    return [term for token in _tokens(piece) for term in token_terms(token)]


def piece_words(piece: bytes) -> list[str]:
    """Return the folded words of one piece that are long enough to be misspelt, and its runs of unspaced text."""
    return long_words(_tokens(piece))


def long_words(tokens: list[str]) -> list[str]:
    """Return those of the tokens, folded, that are long enough to be misspelt, and runs of unspaced text."""
    folded = map(fold_marks, tokens)
    return [word for word in folded if len(word) >= _SHORTEST_WORD or UNSPACED.search(word)]


def _tokens(piece: bytes) -> list[str]:
    return tokens_of_normalised(piece.translate(_WITH_SIGNS).decode("utf-8", "surrogatepass"))
