"""Chunks of a file as text or base64: text is split between characters, base64 at multiples of three. No I/O."""

from __future__ import annotations

import base64
import codecs

from skillhub_mcp.errors import InvalidArgument

LONGEST_CHARACTER = 4
_BINARY_CUTS_TRIED = 64


def base64_chunk(ahead: bytes, most: int) -> tuple[str, int]:
    """Return about the first `most` bytes of `ahead` as base64, and how many they are."""
    used = _binary_length(ahead, most)
    return base64.b64encode(ahead[:used]).decode("ascii"), used


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


def _binary_length(ahead: bytes, most: int) -> int:
    """Return the length of a binary chunk. It never ends within a character, so `next_offset` is always valid."""
    if len(ahead) <= most:
        return len(ahead)
    longest = max(3, most - most % 3)
    for length in range(longest, max(0, longest - 3 * _BINARY_CUTS_TRIED), -3):
        if _character_across(ahead, length) is None:
            return min(length, len(ahead))
    begin, end = _character_across(ahead, longest) or (longest, longest)
    return begin or end


def _character_across(content: bytes, at: int) -> tuple[int, int] | None:
    """Return the start and end of the UTF-8 character that starts before `at` and ends after it, or None."""
    for begin in range(max(0, at - LONGEST_CHARACTER + 1), at):
        for end in range(at + 1, min(begin + LONGEST_CHARACTER, len(content)) + 1):
            if _is_one_character(content[begin:end]):
                return begin, end
    return None


def _is_one_character(content: bytes) -> bool:
    try:
        return len(content.decode()) == 1
    except UnicodeDecodeError:
        return False


def refuse_within_character(found: bytes, lookback: int, offset: int, most: int) -> None:
    """Raise InvalidArgument if `offset`, `lookback` bytes into `found`, is within a character of a text."""
    # Base64 of a text that starts with half a character is useless. In binary content, bytes that look like a
    # character mean nothing, so any offset is valid.
    across = _character_across(found, lookback)
    if across is not None and text_chunk(found[across[1] :], most) is not None:
        raise InvalidArgument(
            "offset",
            f"is {offset}, which is within a character",
            hint=f"this character starts at {offset - lookback + across[0]}",
        )
