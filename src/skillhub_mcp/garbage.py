"""How often Python looks for garbage among the objects that there are."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_USUAL = gc.get_threshold()
_MANY_OBJECTS = 50_000


def collect_seldom() -> None:
    """Have it look once in many new objects: a command of a shell mostly ends before there is garbage to speak of."""
    gc.set_threshold(_MANY_OBJECTS, *_USUAL[1:])


def collect_as_usual() -> None:
    """Have it look as often as it does by itself."""
    gc.set_threshold(*_USUAL)


@contextlib.contextmanager
def garbage_collection_off() -> Iterator[None]:
    """Collect no garbage meanwhile."""
    # Parsing creates a hundred thousand objects and no garbage: collecting takes a quarter longer.
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
