"""Search over one library, in a process of its own: how long, how much memory, how much disk."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import resource
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from skillhub_mcp.search.candidates import MOST_CANDIDATES

if TYPE_CHECKING:
    from skillhub_mcp.hub import SearchAnswer

_RUNS = 2
_THREADS = 16


def figures(library: str, database: str, queries: str) -> tuple[str, float]:
    """Return what was measured, told in one line, and the ratio of our p50 to that of LanceDB's bare query."""
    from lancedb.query import MatchQuery

    from skillhub_mcp.analysis.analyzer import terms
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.index.lance import run
    from skillhub_mcp.settings import read_settings

    settings, _ = read_settings({**os.environ, "SKILLS_DIR": library, "DB_PATH": database})
    hub = make_hub(settings)
    start = time.perf_counter()
    view = hub.refresh()
    built = time.perf_counter() - start
    assert view.index is not None
    memory_built = _megabytes()
    texts = [json.loads(line)["text"] for line in Path(queries).read_text(encoding="utf-8").splitlines()]
    index = view.index
    sqlite, sqlite_built = _sqlite(library)

    asked = itertools.count()

    def ours(text: str) -> SearchAnswer:
        # Each time another question that means the same: what was just asked would be answered from memory.
        return hub.search(f"{text} {'?' * next(asked)}")

    table = index.table._table  # noqa: SLF001 - what is measured is what lies below

    async def query(text: str) -> object:
        found = table.query().nearest_to_text(MatchQuery(text, "terms")).where("root IN ('hub')")
        return await found.with_row_id().select(["_rowid", "_score"]).limit(MOST_CANDIDATES).to_arrow()

    def bare(text: str) -> object:
        return run(query(" ".join(terms(text))))

    def fts5(text: str) -> object:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)) or '""'
        return sqlite.execute(
            "SELECT path FROM skills WHERE skills MATCH ? ORDER BY rank LIMIT 10", (words,)
        ).fetchall()

    times = {name: _times(ask, texts) for name, ask in (("ours", ours), ("bare", bare), ("fts5", fts5))}
    # In turn, so that whatever slows the machine slows all alike.
    for _ in range(_RUNS - 1):
        for name, ask in (("ours", ours), ("bare", bare), ("fts5", fts5)):
            times[name] = [min(pair) for pair in zip(times[name], _times(ask, texts), strict=True)]
    alone = [tuple(hit.handle for hit in ours(text).hits) for text in texts]
    start = time.perf_counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        together = list(pool.map(lambda text: tuple(hit.handle for hit in ours(text).hits), texts))
    rate = len(texts) / (time.perf_counter() - start)
    assert together == alone
    hub.close()
    disk = sum(file.stat().st_size for file in Path(database).parent.rglob("*") if file.is_file()) / 2**20
    told = (
        f"{_told(times['ours'])}, bare LanceDB {_told(times['bare'])}, sqlite FTS5 {_told(times['fts5'])}; built in "
        f"{built:.1f} s (FTS5 {sqlite_built:.1f} s), {disk:.0f} MB on disk, {memory_built:.0f} MB of memory with "
        f"building; {_THREADS} at once: {rate:.0f} a second and none lost"
    )
    return told, statistics.median(times["ours"]) / statistics.median(times["bare"])


def ingest(library: str, database: str, place: str) -> None:
    """Read all SKILL.md files, and write the rows of an index with the same indexes to another place."""
    import lancedb

    for file in Path(library).rglob("SKILL.md"):
        file.read_bytes()
    rows = lancedb.connect(database).open_table("skills").to_arrow()
    from skillhub_mcp.index.schema import indexes

    table = lancedb.connect(place).create_table("skills", rows)

    async def index() -> None:
        own = await (await lancedb.connect_async(place)).open_table("skills")
        for name, (column, config) in indexes().items():
            await own.create_index(column, config=config, name=name)

    del table
    asyncio.run(index())


def profile(environment: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """Return how many calls of SkillHub's own code, in how many modules, a search and a load make."""
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.settings import read_settings

    hub = make_hub(read_settings(environment)[0])
    hub.refresh()
    name = hub.search("").hits[0].handle
    hub.search("read a table")
    hub.load(name)
    found = {}
    asked: dict[str, Callable[[], object]] = {
        "search": lambda: hub.search("extract invoices with pandas"),
        "load": lambda: hub.load(name),
    }
    for what, ask in asked.items():
        files: list[str] = []

        def count(frame: FrameType, event: str, _: object, files: list[str] = files) -> None:
            if event == "call" and "skillhub_mcp" in frame.f_code.co_filename:
                files.append(frame.f_code.co_filename)

        sys.setprofile(count)
        try:
            ask()
        finally:
            sys.setprofile(None)
        found[what] = len(files), len(set(files))
    hub.close()
    return found


def _times(ask: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    for text in texts[:5]:
        ask(text)
    times = []
    for text in texts:
        start = time.perf_counter()
        ask(text)
        times.append(time.perf_counter() - start)
    return times


def _told(times: Sequence[float]) -> str:
    ordered = sorted(times)
    return f"{1_000 * statistics.median(times):.1f}/{1_000 * ordered[int(len(ordered) * 0.95)]:.1f} ms"


def _sqlite(library: str) -> tuple[sqlite3.Connection, float]:
    start = time.perf_counter()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE skills USING fts5(path UNINDEXED, text, tokenize='porter')")
    files = Path(library).rglob("SKILL.md")
    rows = ((str(file), file.read_text(encoding="utf-8", errors="replace")) for file in files)
    connection.executemany("INSERT INTO skills VALUES (?, ?)", rows)
    return connection, time.perf_counter() - start


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
