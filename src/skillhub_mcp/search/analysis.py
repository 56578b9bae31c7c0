"""What is the query, once written the one way that the index understands? Pure text in, text out."""

from __future__ import annotations

import unicodedata

MAX_QUERY_CHARACTERS = 2_000


def normalise_query(text: str) -> str:
    """Return `text` in NFKC with blanks collapsed, each word once, at most 2,000 characters (seed 002 §3.2).

    A word said twice asks for nothing more, yet would count twice in a full-text score.
    """
    # Cut before, to bound the work, and after, because a character may become many.
    normal = unicodedata.normalize("NFKC", text[:MAX_QUERY_CHARACTERS])[:MAX_QUERY_CHARACTERS]
    words: dict[str, str] = {}
    for word in normal.replace("\0", " ").split():
        words.setdefault(word.casefold(), word)
    return " ".join(words.values())
