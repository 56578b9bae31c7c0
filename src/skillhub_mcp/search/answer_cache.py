"""What was just asked, and how was it answered? Agents ask the same things; nothing changes between two questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """The last answers, as long as what they were given from is the same. Safe to call from threads.

    `world` is what every answer depends on: where one of its values is another object, all answers are forgotten.
    `asker` is what only some depend on. Both are told apart by identity: comparing them would cost more than asking.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._world: tuple[object, ...] = ()
        self._answers: OrderedDict[tuple[int, Hashable], tuple[object, T]] = OrderedDict()

    def get(self, world: tuple[object, ...], asker: object, question: Hashable) -> T | None:
        """Return the answer that was kept, if one was."""
        key = (id(asker), question)
        with self._lock:
            if not self._is(world) or key not in self._answers:
                return None
            self._answers.move_to_end(key)
            return self._answers[key][1]

    def keep(self, world: tuple[object, ...], asker: object, question: Hashable, answer: T) -> None:
        """Keep an answer; the one that was asked for longest ago goes."""
        with self._lock:
            if not self._is(world):
                self._world = world
                self._answers.clear()
            # The asker stays alive with its answers, so that no other can have its identity.
            self._answers[id(asker), question] = (asker, answer)
            while len(self._answers) > self._kept:
                self._answers.popitem(last=False)

    def _is(self, world: tuple[object, ...]) -> bool:
        return len(world) == len(self._world) and all(a is b for a, b in zip(world, self._world, strict=True))
