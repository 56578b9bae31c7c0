"""Questions for measuring speed: what was judged for quality, each asked once, and as many more as a load needs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from bench.judged import DEVELOPMENT, TASKS

_LONG = 400


def real_questions() -> list[str]:
    """Return every question that stands in `bench/tasks`, and the development queries where they are, in a fixed order.

    Their answers are not looked at. A tenth of them are pasted texts.
    """
    files = [*sorted(TASKS.glob("*.jsonl")), *([DEVELOPMENT] if DEVELOPMENT.is_file() else [])]
    texts = [json.loads(line)["text"] for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    found = list(dict.fromkeys(texts))
    random.Random(7).shuffle(found)
    return found


def new_questions(seed: int) -> Iterator[str]:
    """Yield questions without end, none twice: a typed one and a word or two of another one."""
    typed = [text for text in real_questions() if len(text) < _LONG]
    words = sorted({word for text in typed for word in text.split() if len(word) > 3})
    choose = random.Random(seed)
    asked: set[str] = set()
    while True:
        text = " ".join([choose.choice(typed), *choose.sample(words, choose.choice((1, 2)))])
        if text not in asked:
            asked.add(text)
            yield text
