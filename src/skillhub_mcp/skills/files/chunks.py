"""Chunks of a file as text or base64: text is split between characters, base64 at multiples of three. No I/O."""

from __future__ import annotations

import base64
import codecs

LONGEST_CHARACTER = 4
_GROUP = 3  # bytes that are four characters of base64
_CONTINUATION = bytes(range(0x80, 0xC0))


def base64_chunk(ahead: bytes, most: int) -> tuple[str, int]:
    """Return about the first `most` bytes of `ahead` as base64, and how many they are.

    It ends between characters if that is possible, as a text may follow.
    """
    used = len(ahead)
    if used > most:
        used = longest = max(_GROUP, most - most % _GROUP)
        while used > _GROUP and ahead[used : used + 1] in _CONTINUATION:
            used -= _GROUP
        used = used if used > _GROUP else longest
    return base64.b64encode(ahead[:used]).decode("ascii"), min(used, len(ahead))


def text_chunk(ahead: bytes, most: int, codec: str = "utf-8") -> tuple[str, int] | None:
    """Return the text in about the first `most` bytes, at least one character, and its length; None if it is binary."""
    for limit in range(most, max(most, LONGEST_CHARACTER) + 1):
        part = ahead[:limit]
        decoder = codecs.getincrementaldecoder(codec)("strict")
        try:
            text = decoder.decode(part, final=limit >= len(ahead))
        except UnicodeDecodeError:
            return None
        if "\0" in text:
            return None
        if text or not part:
            return text, len(part) - len(decoder.getstate()[0])
    return None
