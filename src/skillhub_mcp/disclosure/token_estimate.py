"""What does a text cost a model? An estimate: no tokenizer of any model is shipped or fetched. Pure."""

from __future__ import annotations

# English prose and code come to about four characters a token in the tokenizers in use; a Chinese, Japanese or Korean
# character is about one token by itself, and so is an emoji.
_CHARACTERS_A_TOKEN = 4
# In UTF-8 those characters begin with these bytes, and counting bytes is many times as fast as matching characters.
_OWN_TOKEN = frozenset((*range(0xE3, 0xEE), *range(0xF0, 0xF5)))
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in _OWN_TOKEN)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is, within a quarter for prose; 0 for an empty text."""
    alone = 0 if text.isascii() else len(text.encode("utf-8", "replace").translate(None, _OTHER_BYTES))
    return alone + -(-(len(text) - alone) // _CHARACTERS_A_TOKEN)
