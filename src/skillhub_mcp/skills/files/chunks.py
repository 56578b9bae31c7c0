"""How are bytes cut into parts that each make sense? Between characters, or at multiples of three; no I/O."""

from __future__ import annotations

import base64
import codecs
from typing import Literal

from skillhub_mcp.errors import InvalidArgument

LONGEST_CHARACTER = 4
_BINARY_CUTS_TRIED = 64


def cut(ahead: bytes, most: int) -> tuple[str, Literal["utf-8", "base64"], int]:
    """Return the part that begins `ahead`, its encoding, and how many bytes it stands for, about `most`."""
    text = _text(ahead, most)
    if text is not None:
        return text[0], "utf-8", text[1]
    used = _binary_length(ahead, most)
    return base64.b64encode(ahead[:used]).decode("ascii"), "base64", used


def _text(ahead: bytes, most: int) -> tuple[str, int] | None:
    """Return the text that `most` bytes hold, at least one character, and its length in bytes; None if binary."""
    for limit in range(most, max(most, LONGEST_CHARACTER) + 1):
        part = ahead[:limit]
        try:
            text, used = codecs.utf_8_decode(part, "strict", limit >= len(ahead))
        except UnicodeDecodeError:
            return None
        if "\0" in text:
            return None
        if text or not part:
            return text, used
    return None


def _binary_length(ahead: bytes, most: int) -> int:
    """Return how many bytes the part has. Its end is never within a character, so `next_offset` is never refused."""
    if len(ahead) <= most:
        return len(ahead)
    longest = max(3, most - most % 3)
    for length in range(longest, max(0, longest - 3 * _BINARY_CUTS_TRIED), -3):
        if _character_across(ahead, length) is None:
            return min(length, len(ahead))
    begin, end = _character_across(ahead, longest) or (longest, longest)
    return begin or end


def _character_across(content: bytes, at: int) -> tuple[int, int] | None:
    """Return where a UTF-8 character begins and ends that begins before `at` and ends after it."""
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


def refuse_within_character(found: bytes, behind: int, offset: int, most: int) -> None:
    """Raise InvalidArgument where `offset`, `behind` bytes into `found`, is within a character of a text."""
    # Base64 of a text with half a character at its front would help nobody. In binary content, bytes that look like
    # a character mean nothing: there any offset is good.
    across = _character_across(found, behind)
    if across is not None and _text(found[across[1] :], most) is not None:
        raise InvalidArgument(
            "offset",
            f"is {offset}, which is within a character",
            hint=f"go on with next_offset; this character begins at {offset - behind + across[0]}",
        )
