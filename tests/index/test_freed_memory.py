"""Freed memory goes back to the system where the C library can do that, and nothing fails where it cannot."""

from __future__ import annotations

from ctypes import CDLL
from types import SimpleNamespace

import pytest

from skillhub_mcp.index import freed_memory


def test_the_c_library_of_this_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    library = SimpleNamespace(mallopt=lambda *given: asked.append(given), malloc_trim=lambda pad: asked.append((pad,)))
    monkeypatch.setattr(freed_memory, "_c_library", lambda: library)
    freed_memory.use_few_pools()
    freed_memory.give_back()
    # M_ARENA_MAX of glibc's malloc.h, and no memory kept back.
    assert asked == [(-8, 2), (0,)]


def test_a_c_library_without_pools_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_memory, "_c_library", SimpleNamespace)
    freed_memory.use_few_pools()
    freed_memory.give_back()


def test_pools_are_given_back_for_real() -> None:
    freed_memory.give_back()
    assert freed_memory._c_library() is freed_memory._c_library()
    assert isinstance(freed_memory._c_library(), CDLL)
