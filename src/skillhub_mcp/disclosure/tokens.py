"""What does a text cost a model? An estimate: no tokenizer of any model is shipped or fetched. Pure."""

from __future__ import annotations

import re

# English prose and code come to about four characters a token in the tokenizers in use; a Chinese, Japanese or
# Korean character is about one token by itself.
_CHARACTERS_A_TOKEN = 4
_OWN_TOKEN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` is, within a quarter for prose; 0 for an empty text."""
    alone = len(_OWN_TOKEN.findall(text))
    return alone + -(-(len(text) - alone) // _CHARACTERS_A_TOKEN)
