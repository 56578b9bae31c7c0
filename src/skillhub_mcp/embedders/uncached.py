"""A tokenizer that keeps nothing of the texts it has cut.

By itself one of some kinds keeps the last ten thousand words, or texts of up to 255 characters where nothing cuts these
into words, for each thread: 3.6 kB for a question that nobody asks again, and up to 36 MB a thread.
"""

from __future__ import annotations

from typing import Any


def without_cache(tokenizer: Any) -> Any:
    """Have a tokenizer keep nothing, and return it."""
    # Only those kinds have it. It is not public: the tests hold that it works.
    resize = getattr(tokenizer.model, "_resize_cache", None)
    if resize is not None:
        resize(0)
    return tokenizer
