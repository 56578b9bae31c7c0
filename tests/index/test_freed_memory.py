"""Freed memory goes back to the system where the C library can do that, and nothing fails where it cannot."""

from __future__ import annotations

from ctypes import CDLL
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from skillhub_mcp.index import freed_memory, state_entries
from skillhub_mcp.index.keys import RootKeys


def test_the_c_library_of_this_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    library = SimpleNamespace(mallopt=lambda *given: asked.append(given), malloc_trim=lambda pad: asked.append((pad,)))
    monkeypatch.setattr(freed_memory, "_c_library", lambda: library)
    freed_memory.use_few_pools()
    freed_memory.give_back()
    # M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h, and no memory kept back.
    assert asked == [(-8, 2), (-3, 1 << 20), (-1, 4 << 20), (0,)]


def test_arrow_takes_its_memory_from_the_pools_that_are_given_back() -> None:
    freed_memory.use_few_pools_for_arrow()
    assert pa.default_memory_pool().backend_name == "system"


def test_a_c_library_without_pools_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_memory, "_c_library", SimpleNamespace)
    freed_memory.use_few_pools()
    freed_memory.give_back()


def test_who_reads_a_large_state_keeps_little_of_what_is_freed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(state_entries, "use_few_pools", lambda: told.append(1))
    file = tmp_path / "entries"
    file.write_bytes(b'["hub/walrus"]\n' * 3)
    for most, wanted in ((1 << 20, []), (1, [1])):
        monkeypatch.setattr(state_entries, "_MANY_BYTES", most)
        with file.open("rb") as lines:
            size = file.stat().st_size
            assert state_entries.read_entries(lines, 0, size, {"hub": RootKeys("hub", "/skills")}, {}) == {"hub": {}}
        assert told == wanted


def test_pools_are_given_back_for_real() -> None:
    freed_memory.give_back()
    assert freed_memory._c_library() is freed_memory._c_library()
    assert isinstance(freed_memory._c_library(), CDLL)
