"""A load on a server over HTTP, from a process of its own: connections that each ask one new question after another.

python -m bench.load PORT --connections 64 --seconds 120
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from bench.questions import new_questions  # noqa: E402 - the project's root comes first
from bench.wire import HttpConnection  # noqa: E402


@dataclass(frozen=True, slots=True)
class Load:
    """What a load met with: answers, errors (the first ones), answers a second, and times in ms."""

    answers: int
    errors: int
    first_errors: tuple[str, ...]
    a_second: float
    p50: float
    p95: float
    p99: float
    slowest: float


def share(times: Sequence[float], of: float) -> float:
    """Return the time that this share of them does not exceed."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * of))]


def put(port: int, *, connections: int, seconds: float, seed: int = 1) -> Load:
    """Put such a load on the server at a port of this machine, from another process."""
    command = [sys.executable, __file__, str(port), "--connections", str(connections)]
    command += ["--seconds", str(seconds), "--seed", str(seed)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return Load(**{**found, "first_errors": tuple(found["first_errors"])})


async def _ask(port: int, connections: int, seconds: float, seed: int) -> Load:
    times: list[float] = []
    errors: list[str] = []
    deadline = time.perf_counter() + seconds

    async def one(number: int) -> None:
        questions = new_questions(seed * 1_000 + number)
        while time.perf_counter() < deadline:
            try:
                async with HttpConnection(port) as connection:
                    while time.perf_counter() < deadline:
                        began = time.perf_counter()
                        answer = await connection.call("search_skills", {"query": next(questions)})
                        times.append(time.perf_counter() - began)
                        if answer.get("isError"):
                            errors.append(json.dumps(answer)[:300])
            except (OSError, RuntimeError, asyncio.IncompleteReadError) as error:
                errors.append(repr(error)[:300])
                await asyncio.sleep(0.1)

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(connections)))
    taken = time.perf_counter() - began
    told = [1_000 * share(times, of) for of in (0.95, 0.99, 1.0)]
    return Load(len(times), len(errors), tuple(errors[:3]), len(times) / taken, 1_000 * statistics.median(times), *told)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    found = asyncio.run(_ask(chosen.port, chosen.connections, chosen.seconds, chosen.seed))
    print(json.dumps(asdict(found)))
    return 1 if found.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
