"""Runs patterns and loops over long texts in a child process that is ended if one of them does not end."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

# Work in proportion to the text takes a fraction of a second for it; in the square of it, many seconds.
LENGTH = 50_000
_PUMPS = (
    " ", "a", "0", "\n", "-", ".", "/", "(", "[", "<", '"', "'", "`", "$", "=", ":", ",", "\\", "_", "a ", "a.", "](",
    "[x](", "<a ", "\t\n", "aA0_",
)  # fmt: skip
_START = re.compile(r"\^?((?:[^\\\[\](){}.*+?|^$]|\\\W)*)")
Search = tuple[str, re.Pattern[Any], bool]


def search_texts(search: Search, length: int = LENGTH) -> None:
    """Search long texts for a pattern, or match their starts: one character or word many times, and what ends it."""
    _, pattern, anywhere = search
    is_bytes = isinstance(pattern.pattern, bytes)
    source = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    started = _START.match(source)
    start = re.sub(r"\\(.)", r"\1", started[1]) if started else ""
    for pump in (*_PUMPS, *sorted(set(re.findall(r"[A-Za-z]{2,}", source)))[:6]):
        for before in {"", start}:
            text = before + (pump * length)[:length] + "\0"
            (pattern.search if anywhere else pattern.match)(text.encode() if is_bytes else text)


def first_endless(work: Callable[[Any], object], each: Sequence[Any], *, seconds: float = 10.0) -> Any:
    """Return the first of `each` for which `work` does not end in time, or None."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(work, each, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        for one in each:
            if not ours.poll(seconds):
                return one
            ours.recv()
        return None
    finally:
        process.terminate()
        process.join()
        process.close()
        ours.close()


def _run(work: Callable[[Any], object], each: Sequence[Any], done: Connection) -> None:
    for one in each:
        work(one)
        done.send(None)
