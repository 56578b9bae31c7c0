"""What is promised about speed, and how each promise is measured."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.library import write_library
from bench.wire import StdioServer

_HERE = Path(__file__).parent
_OURS = (sys.executable, "-m", "skillhub_mcp")
_BARE = (sys.executable, str(_HERE / "bare_server.py"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One promise: what was measured, in which unit, and the bound it must keep."""

    promise: str
    figures: str
    measured: float
    bound: float

    @property
    def kept(self) -> bool:
        return self.measured <= self.bound


def _environment(skills: Path, database: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(database.parent),
        "SKILLS_DIR": str(skills),
        "DB_PATH": str(database),
        "FASTMCP_CHECK_FOR_UPDATES": "off",
        "FASTMCP_LOG_ENABLED": "false",
    }


def _indexed(scratch: Path, count: int) -> dict[str, str]:
    environment = _environment(write_library(scratch / "skills", count), scratch / "db" / "skills.lancedb")
    subprocess.run([*_OURS, "index", "--json"], env=environment, check=True, stdout=subprocess.DEVNULL)
    return environment


def _pairs(ours: Callable[[], float], theirs: Callable[[], float], runs: int) -> tuple[float, float, float]:
    """Run both in turn and return the medians and the median of the ratios pair by pair."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(runs)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def startup(scratch: Path) -> list[Outcome]:
    environment = _indexed(scratch, 1_000)

    def until(command: tuple[str, ...], *methods: str) -> float:
        with StdioServer(command, environment) as server:
            server.initialize()
            for method in methods:
                server.request(method)
            return server.since_start

    outcomes = []
    for promise, methods in (("initialize answered", ()), ("tools/list answered", ("tools/list",))):
        a, b, ratio = _pairs(lambda m=methods: until(_OURS, *m), lambda m=methods: until(_BARE, *m), 11)  # type: ignore[misc]
        outcomes.append(
            Outcome(
                f"process start to {promise}, stdio, 1,000 unchanged skills, against a bare FastMCP server",
                f"{a:.2f} s / {b:.2f} s",
                ratio,
                1.15,
            )
        )
    return outcomes


def first_search(scratch: Path) -> list[Outcome]:
    environment = _indexed(scratch, 1_000)

    def ours() -> float:
        with StdioServer(_OURS, environment) as server:
            server.initialize()
            answer = server.call("search_skills", {"query": "extract invoices with pandas"})
            assert json.loads(answer["content"][0]["text"])["skills"]
            return server.since_start

    def bare_and_import() -> float:
        with StdioServer(_BARE, environment) as server:
            server.initialize()
            began = server.since_start
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import lancedb"], env=environment, check=True)
        imported = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
        return began + imported - (time.perf_counter() - start)

    a, b, ratio = _pairs(ours, bare_and_import, 7)
    return [
        Outcome(
            "process start to the first search_skills answered, 1,000 skills, against a bare start + import lancedb",
            f"{a:.2f} s / {b:.2f} s",
            ratio,
            1.3,
        )
    ]


def nothing_changed(scratch: Path) -> list[Outcome]:
    from skillhub_mcp.search.indexing import Indexer
    from skillhub_mcp.search.state import load_state, state_path
    from skillhub_mcp.skills.registry import scan
    from skillhub_mcp.skills.roots import make_roots

    environment = _indexed(scratch, 10_000)
    roots = make_roots([environment["SKILLS_DIR"]])
    database = environment["DB_PATH"]

    def bare_walk(directory: str) -> int:
        files = 0
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    files += bare_walk(entry.path)
                else:
                    entry.stat()
                    files += 1
        return files

    def timed(work: Callable[[], object]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def decide() -> None:
        state = load_state(state_path(database))
        assert state is not None
        indexer = Indexer(database, roots, embedder=None)
        assert indexer.stale(state, scan(roots, memory=state.memory)) is None

    a, b, ratio = _pairs(lambda: timed(decide), lambda: timed(lambda: bare_walk(environment["SKILLS_DIR"])), 9)
    return [
        Outcome(
            'deciding "nothing changed" for 10,000 skills, against a bare os.scandir and stat walk of the same tree',
            f"{a:.3f} s / {b:.3f} s",
            ratio,
            3.0,
        )
    ]


def live_change(scratch: Path) -> list[Outcome]:
    environment = _indexed(scratch, 10_000)
    skill = Path(environment["SKILLS_DIR"]) / "skill-004711" / "SKILL.md"
    seconds = []
    with StdioServer(_OURS, environment) as server:
        server.initialize()
        server.call("search_skills", {"query": "anything"})
        for word in ("zirconium", "ytterbium", "praseodymium"):
            text = skill.read_text(encoding="utf-8")
            skill.write_text(text.replace("description: ", f"description: {word} "), encoding="utf-8")
            start = time.perf_counter()
            while time.perf_counter() - start < 30:
                answer = server.call("search_skills", {"query": word})
                if "skill-004711" in answer["content"][0]["text"]:
                    break
                time.sleep(0.05)
            seconds.append(time.perf_counter() - start)
    return [
        Outcome(
            "seconds until a running server finds the new text of one changed skill of 10,000",
            ", ".join(f"{second:.2f} s" for second in seconds),
            max(seconds),
            3.0,
        )
    ]


def surface(scratch: Path) -> list[Outcome]:
    environment = _environment(write_library(scratch / "skills", 1), scratch / "db" / "skills.lancedb")
    with StdioServer(_OURS, environment) as server:
        server.initialize()
        size = len(json.dumps(server.request("tools/list"), separators=(",", ":"), ensure_ascii=False).encode())
    return [Outcome("bytes of tools/list, default surface", f"{size:,} bytes", float(size), 2_500)]


MEASURES: dict[str, Callable[[Path], list[Outcome]]] = {
    "startup": startup,
    "first_search": first_search,
    "nothing_changed": nothing_changed,
    "live_change": live_change,
    "surface": surface,
}


def measure(name: str) -> list[Outcome]:
    """Run one measure in a directory of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="skillhub-bench-") as scratch:
        return MEASURES[name](Path(scratch))
