"""Calls that their caller may stop waiting for: their thread then keeps neither caller nor process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start_abandonable(ask: Callable[[], T], *, name: str = "skillhub-embedding") -> Future[T]:
    """Call `ask` in a daemon thread of that `name`, and return the future of what it returns or raises."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - raised again where the answer is taken
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer
