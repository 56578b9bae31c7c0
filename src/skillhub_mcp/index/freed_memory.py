"""Memory that was freed goes back to the system: what C code frees, glibc keeps, in a pool for each few threads.

LanceDB has a thread for each core and frees in one what another took. After a merge of 20,000 skills a process had
324 MB, of which 97 were in use.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

# From malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_POOLS = 2
# From this size on an array is a mapping of its own, which goes when it is freed. By itself glibc raises that to 32 MB
# as soon as such arrays were freed, and their room is then kept for smaller ones to lie in.
_MAPPED_BYTES = 1 << 20
_KEPT_BYTES = 4 << 20


def use_few_pools() -> None:
    """Have threads that start from now on share two pools, and give back what is large at once.

    For who is about to read a large library, or to write any. Without glibc, does nothing.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = _c_library().mallopt
        mallopt(_ARENA_MAX, _POOLS)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def use_few_pools_for_arrow() -> None:
    """Do the same, and have Arrow use these pools too, of which the first index takes one of its own."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    use_few_pools()


def give_back() -> None:
    """Give freed memory back to the system; takes some milliseconds. Without glibc, does nothing."""
    with suppress(AttributeError, OSError, TypeError):
        _c_library().malloc_trim(0)


@cache
def _c_library() -> Any:
    import ctypes

    return ctypes.CDLL(None)
