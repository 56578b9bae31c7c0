"""What a process and its descendants use: CPU seconds, memory, descriptors. Linux only, from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAMPLED_SECONDS = 0.1
# Within so long a time a process that does nothing uses less than this.
_QUIET_SECONDS, _QUIET_CPU = 3.0, 0.06


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command used with all its children: CPU seconds, the most memory at once in MB, and wall seconds."""

    cpu: float
    peak_megabytes: float
    seconds: float
    output: bytes = b""


def run(command: Sequence[str], environment: Mapping[str, str], *, directory: Path | None = None) -> Cost:
    """Run a command to its end. Raises RuntimeError where it fails.

    Memory is sampled, so that it is that of all processes at one time; pages that two of them share count twice.
    """
    began = time.perf_counter()
    process = Popen(list(command), env=dict(environment), stdout=PIPE, stderr=DEVNULL, cwd=directory)
    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(_SAMPLED_SECONDS):
            peak[0] = max(peak[0], megabytes(process.pid))

    sampling = threading.Thread(target=watch)
    sampling.start()
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    sampling.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    largest = max(peak[0], usage.ru_maxrss / 1_000)
    return Cost(usage.ru_utime + usage.ru_stime, largest, time.perf_counter() - began, output)


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds that a process and its descendants, also those that have ended, have used so far."""
    return sum(sum(map(int, _stat(one)[11:15])) for one in _tree(process)) / _TICK


def megabytes(process: int) -> float:
    """Return the resident memory of a process and its descendants."""
    return sum(_resident(one)[0] for one in _tree(process)) * _PAGE / 1e6


def own_megabytes(process: int) -> float:
    """Return the same without the pages of files, which the system takes back when it needs them."""
    return sum(total - shared for total, shared in map(_resident, _tree(process))) * _PAGE / 1e6


def descriptors(process: int) -> int:
    """Return how many files, sockets and pipes a process and its descendants have open."""
    return sum(len(os.listdir(f"/proc/{one}/fd")) for one in _tree(process))


def until_quiet(process: int, *, most_seconds: float = 600.0) -> float:
    """Wait until a process does nothing any more, and return the CPU seconds that it has used so far."""
    deadline = time.monotonic() + most_seconds
    before = cpu_seconds(process)
    while time.monotonic() < deadline:
        time.sleep(_QUIET_SECONDS)
        now = cpu_seconds(process)
        if now - before <= _QUIET_CPU:
            return now
        before = now
    raise RuntimeError(f"the process was never quiet within {most_seconds:g} seconds")


def _tree(process: int) -> Iterator[int]:
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text(encoding="ascii").split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _tree(int(child))


def _stat(process: int) -> list[str]:
    """Return the fields of a process after its name, which may have blanks; zeros where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["0"] * 20


def _resident(process: int) -> tuple[int, int]:
    """Return the resident pages of a process, and how many of them are those of files."""
    try:
        fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    return int(fields[1]), int(fields[2])
