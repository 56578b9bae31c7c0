"""What a process and all its descendants use at one moment, on Linux; elsewhere nothing is known.

The kernel bounds each process. What many of them use together it bounds only for who may make control groups, so that
is looked at from outside, often enough that a fork bomb is caught while it is small.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# proc(5), counted after the name in brackets.
_RSS = 21


@dataclass(frozen=True, slots=True)
class Consumption:
    """Processes and threads, and bytes of memory, of which those that processes share count once."""

    processes: int = 0
    memory_bytes: int = 0


def consumption_of(root: int, *, process_limit: int, memory_limit: int) -> Consumption:
    """Return what `root` and its descendants use.

    Processes are counted until there are more than `process_limit`, and then memory is not looked at: a fork bomb grows
    faster than a look at all of it ends. Memory is counted closely only where it may be over the limit.
    """
    pids, threads = _descendants(root, process_limit)
    if threads > process_limit:
        return Consumption(threads)
    memory = {}
    for pid in pids:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if len(fields) > _RSS:
            memory[pid] = int(fields[_RSS]) * _PAGE_BYTES
    total = sum(memory.values())
    if total > memory_limit:
        total = sum(_share(pid, resident) for pid, resident in memory.items())
    return Consumption(threads, total)


def _descendants(root: int, most: int) -> tuple[list[int], int]:
    """Return the processes and the number of their threads, no more than it takes to be over `most`."""
    found, count, rest = [], 0, [root]
    while rest and count <= most:
        pid = rest.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:  # ended since it was listed
            continue
        found.append(pid)
        count += len(threads)
        for thread in threads:
            rest += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found, count


def _share(pid: int, resident: int) -> int:
    """Return a process's part of the memory that it has, all of it where the kernel does not say."""
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        name, _, value = line.partition(b":")
        if name == b"Pss":
            return int(value.split()[0]) * 1024
    return resident


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:  # ended, or not on this system
        return b""
