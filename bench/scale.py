"""What a large library costs: every row of a table in docs/benchmarks.md, at 100,000 skills or as many as asked for.

python bench/scale.py                                  # all rows at 100,000: half an hour; writes docs/benchmarks.md
python bench/scale.py search shell --count 10000       # some rows, printed only
python bench/scale.py --place DIR …                    # keeps libraries, indexes and rows there for the next run
python bench/scale.py --place DIR --write search       # writes that row anew, and the others as they were measured

The skills are made from real ones, which lie beside the project, and cut to 5.5 KB in the mean. Costs are CPU seconds
of the process and its children, beside those of what they are compared with in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from bench import processes  # noqa: E402 - the project's root comes first
from bench.judged import SHARED  # noqa: E402
from bench.library import write_from_corpus  # noqa: E402
from bench.load import Load, put, share  # noqa: E402
from bench.questions import new_questions, real_questions  # noqa: E402
from bench.serving import served  # noqa: E402
from bench.wire import HttpConnection, StdioServer  # noqa: E402

_REPORT = _ROOT / "docs" / "benchmarks.md"
_BETWEEN = ("<!-- scale -->\n", "<!-- end of scale -->")
_SMALL = 1_000
_MOST_CHARACTERS = 6_400
_OURS = (sys.executable, "-m", "skillhub_mcp")
_CHANGES, _MANY_CHANGES, _THOUSAND = 3, 100, 1_000
_LOAD_SECONDS, _LONG_LOAD_SECONDS = 30.0, 120.0


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, with what it is compared with, its bound, and the commit."""

    what: str
    figures: str
    measured: float
    bound: float
    commit: str = field(default_factory=_commit)

    @property
    def kept(self) -> bool:
        return self.measured <= self.bound


@dataclass(frozen=True)
class Library:
    """So many skills and their index below a `place`, made when they are first asked for."""

    place: Path
    count: int

    @cached_property
    def skills(self) -> Path:
        directory = self.place / f"skills-{self.count}"
        if not directory.is_dir():
            making = directory.with_suffix(".new")
            shutil.rmtree(making, ignore_errors=True)
            write_from_corpus(SHARED / "corpus" / "skills", making, self.count, most_characters=_MOST_CHARACTERS)
            making.rename(directory)
        return directory

    @property
    def database(self) -> Path:
        return self.place / f"db-{self.count}" / "skills.lancedb"

    @property
    def unindexed(self) -> dict[str, str]:
        """The environment of a command, whether or not there is an index."""
        home = self.place / "home"
        home.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SKILLS_DIR": str(self.skills),
            "DB_PATH": str(self.database),
            "FASTMCP_CHECK_FOR_UPDATES": "off",
            "FASTMCP_LOG_ENABLED": "false",
            # Of a new library it works for half an hour behind everything else: nothing could be told apart.
            "SKILLHUB_AUDIT": "off",
        }

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment of a command, after the index has all skills as they are."""
        processes.run([*_OURS, "index", "--json"], self.unindexed)
        return self.unindexed

    def files(self, seed: int) -> Iterator[Path]:
        """Yield the skills that a search may find in a random order."""
        for name in random.Random(seed).sample(range(self.count), self.count):
            file = self.skills / f"{name // 1_000:03}" / f"skill-{name:06d}" / "SKILL.md"
            if "disable-model-invocation: true" not in file.read_text(encoding="utf-8"):
                yield file


def first(large: Library) -> list[Row]:
    """The first index, against reading the skills and LanceDB's own ingestion with the same indexes."""
    shutil.rmtree(large.database.parent, ignore_errors=True)
    ours = processes.run([*_OURS, "index", "--json"], large.unindexed)
    with tempfile.TemporaryDirectory(dir=large.place) as scratch:
        command = [sys.executable, str(_ROOT / "bench" / "references.py"), "ingest", str(large.skills), scratch]
        theirs = processes.run(command, large.unindexed)
    return [
        Row(
            "first index, CPU against reading and LanceDB's ingestion with the same indexes",
            f"{ours.cpu:.0f} s / {theirs.cpu:.0f} s; in {ours.seconds:.0f} s",
            ours.cpu / theirs.cpu,
            4.0,
        ),
        Row("first index, most memory in MB", f"{ours.peak_megabytes:,.0f} MB", ours.peak_megabytes, 600.0),
    ]


@dataclass(frozen=True, slots=True)
class _Start:
    """Seconds from the start of a server to its answers; its CPU seconds until it searched, and until it is quiet."""

    initialize: float
    load: float
    read: float
    search: float
    cpu: float
    cpu_quiet: float


def _start(library: Library) -> _Start:
    name = f"skill-{library.count // 2:06d}"
    with StdioServer(_OURS, library.environment) as server:
        server.initialize()
        initialized = server.since_start
        server.call("load_skill", {"skill_name": name})
        loaded = server.since_start
        server.call("read_skill_file", {"skill_name": name, "file_path": "SKILL.md"})
        read = server.since_start
        answer = server.call("search_skills", {"query": "extract invoices with pandas"})
        searched, cpu = server.since_start, processes.cpu_seconds(server.process)
        assert json.loads(answer["content"][0]["text"])["skills"]
        return _Start(initialized, loaded, read, searched, cpu, processes.until_quiet(server.process))


def warm(large: Library) -> list[Row]:
    """A start with an index: against that of 1,000 skills and a bare walk over all files."""
    small = Library(large.place, _SMALL)
    starts = [(_start(large), _start(small), _walk(large)) for _ in range(3)]
    ours = median(one.cpu for one, _, _ in starts)
    quiet = median(one.cpu_quiet for one, _, _ in starts)
    few = median(one.cpu for _, one, _ in starts)
    few_quiet = median(one.cpu_quiet for _, one, _ in starts)
    walk = median(cpu for _, _, cpu in starts)
    answers = ", ".join(
        f"{name} {median(getattr(one, field) for one, _, _ in starts):.1f} s "
        f"({median(getattr(one, field) for _, one, _ in starts):.1f} s)"
        for name, field in (
            ("initialize", "initialize"),
            ("load_skill", "load"),
            ("read_skill_file", "read"),
            ("search", "search"),
        )
    )
    return [
        Row(
            "warm start to the first search answered, CPU against that of 1,000 skills and a bare stat walk of all",
            f"{ours:.1f} s / ({few:.1f} + {walk:.1f}) s; answered after (1,000): {answers}",
            ours / (few + walk),
            1.5,
        ),
        Row(
            "warm start until the server does nothing any more, CPU against the same",
            f"{quiet:.1f} s / ({few_quiet:.1f} + {walk:.1f}) s",
            quiet / (few_quiet + walk),
            1.5,
        ),
    ]


def _walk(library: Library) -> float:
    command = [sys.executable, str(_ROOT / "bench" / "references.py"), "walk", str(library.skills)]
    bare = processes.run([sys.executable, "-c", "pass"], library.unindexed)
    return processes.run(command, library.unindexed).cpu - bare.cpu


def _change(skill: Path, word: str) -> None:
    """Have a word at the end of a skill, in the place of the one of an earlier change."""
    text = re.sub(r"\n\nMarked \w+\.\Z", "", skill.read_text(encoding="utf-8"))
    replaced = skill.with_name("SKILL.md.new")
    replaced.write_text(f"{text}\n\nMarked {word}.", encoding="utf-8")
    replaced.replace(skill)


def _word(choose: random.Random) -> str:
    return "zq" + "".join(choose.choice("bcdfghjklmnpqrstvwxz") for _ in range(9))


@dataclass(frozen=True, slots=True)
class _Changed:
    """What a change cost a server: seconds until a search found it, the slowest other search meanwhile in ms, CPU."""

    visible: float
    slowest: float
    cpu: float


@contextmanager
def _server(library: Library, *, workers: int = 1) -> Iterator[tuple[int, int]]:
    """Yield the port and the process of a server over HTTP that has searched and does nothing any more."""
    with served(library.environment, *(["--workers", str(workers)] if workers > 1 else [])) as (port, process):
        asyncio.run(_settle(port))
        processes.until_quiet(process)
        yield port, process


async def _settle(port: int) -> None:
    """Wait until a server can search, and have it search some questions."""
    for _ in range(600):
        # An answer that has to wait comes as a stream, which this connection does not read.
        with contextlib.suppress(RuntimeError):
            async with HttpConnection(port) as connection:
                answer = await connection.call("search_skills", {"query": "extract invoices with pandas"})
                if answer.get("structuredContent", {}).get("skills"):
                    break
        await asyncio.sleep(0.5)
    async with HttpConnection(port) as connection:
        for question in real_questions()[:200]:
            await connection.call("search_skills", {"query": question})


async def _times(port: int, questions: Iterator[str], *, count: int, pause: float = 0.02) -> list[float]:
    """Return the ms that each of so many new questions took, one after the other."""
    times = []
    async with HttpConnection(port) as connection:
        for _ in range(count):
            began = time.perf_counter()
            await connection.call("search_skills", {"query": next(questions)})
            times.append(1_000 * (time.perf_counter() - began))
            await asyncio.sleep(pause)
    return times


def _change_while_asking(
    port: int, process: int, skills: Sequence[Path], word: str, questions: Iterator[str]
) -> _Changed:
    """Change those skills, and ask other questions until one of them is found by its new word.

    As many are asked again without a change: what they cost, from a server at rest to one at rest, is not its cost.
    """
    before, changed = processes.cpu_seconds(process), {skill.parent.name for skill in skills}

    async def ask() -> tuple[float, list[float], int]:
        times: list[float] = []
        asked = 0
        async with HttpConnection(port) as connection:
            # Shown though nothing has the word: what is nearest in meaning. Its score is 0, and a found one's may be.
            answer = await connection.call("search_skills", {"query": word})
            near = {hit["name"] for hit in answer["structuredContent"]["skills"]}
            began = time.perf_counter()
            for skill in skills:
                _change(skill, word)
            while time.perf_counter() - began < 300:
                times += await _times(port, questions, count=1)
                looked = time.perf_counter()
                answer = await connection.call("search_skills", {"query": word})
                times.append(1_000 * (time.perf_counter() - looked))
                asked += 2
                first = next(iter(answer["structuredContent"]["skills"]), None)
                if first is not None and first["name"] in changed - near:
                    break
                await asyncio.sleep(0.1)
            visible = time.perf_counter() - began
            # What it does behind the change slows searches, too.
            after = await _times(port, questions, count=100)
            return visible, times + after, asked + len(after)

    visible, times, asked = asyncio.run(ask())
    then = processes.until_quiet(process)
    asyncio.run(_times(port, questions, count=asked))
    return _Changed(visible, max(times), max(then - before - (processes.until_quiet(process) - then), 0.0))


def changed(large: Library) -> list[Row]:
    """One changed skill in a running server."""
    choose, questions, files = (
        random.Random(),
        new_questions(random.getrandbits(32)),
        large.files(random.getrandbits(32)),
    )
    with _server(large) as (port, process):
        usual = share(asyncio.run(_times(port, questions, count=300)), 0.99)
        memory = processes.megabytes(process)
        processes.until_quiet(process)
        found = [_change_while_asking(port, process, [next(files)], _word(choose), questions) for _ in range(_CHANGES)]
        after = processes.megabytes(process)
    alone = []
    with _server(large) as (_, process):
        for _ in range(_CHANGES):
            before = processes.cpu_seconds(process)
            _change(next(files), _word(choose))
            alone.append(processes.until_quiet(process) - before)
    visible, slowest = (max(getattr(one, field) for one in found) for field in ("visible", "slowest"))
    return [
        Row("one changed skill, seconds until it is found", _each(found, "visible", "s"), visible, 2.5),
        Row(
            "one changed skill, CPU seconds of the server",
            f"{', '.join(f'{cpu:.1f} s' for cpu in alone)}: the first loads LanceDB; {_each(found, 'cpu', 's')} beyond "
            "that of searches, where 20 a second are asked meanwhile",
            max(alone),
            1.0,
        ),
        Row(
            "one changed skill, slowest search meanwhile against the p99 of others",
            f"{_each(found, 'slowest', 'ms')}; p99 {usual:.0f} ms",
            slowest / usual,
            3.0,
        ),
        Row(
            "one changed skill, memory of the server after three against before",
            f"{after:,.0f} MB / {memory:,.0f} MB",
            after / memory,
            1.1,
        ),
    ]


def _each(found: Sequence[_Changed], field: str, unit: str) -> str:
    return ", ".join(f"{getattr(one, field):.{0 if unit == 'ms' else 1}f} {unit}" for one in found)


def thousand(large: Library) -> list[Row]:
    """A thousand skills changed at once in a running server."""
    questions, files = new_questions(random.getrandbits(32)), large.files(random.getrandbits(32))
    skills = [next(files) for _ in range(min(_THOUSAND, large.count))]
    with _server(large) as (port, process):
        asyncio.run(_times(port, questions, count=300))
        memory = processes.megabytes(process)
        processes.until_quiet(process)
        found = _change_while_asking(port, process, skills, _word(random.Random()), questions)
        after = processes.megabytes(process)
    return [
        Row(
            f"{len(skills):,} changed skills, CPU seconds of the server",
            f"{found.cpu:.1f} s; the first is found after {found.visible:.1f} s; memory {memory:,.0f} MB, "
            f"{after:,.0f} MB after",
            found.cpu,
            5.0,
        )
    ]


def memory(large: Library) -> list[Row]:
    """A server's memory above that with 1,000 skills, before and after 100 changes, one a second."""

    def measured(library: Library) -> tuple[float, float, float, float]:
        with _server(library) as (_, process):
            before = processes.megabytes(process), processes.own_megabytes(process)
            files, choose = library.files(random.getrandbits(32)), random.Random()
            for _ in range(_MANY_CHANGES):
                _change(next(files), _word(choose))
                time.sleep(1.0)
            processes.until_quiet(process)
            return *before, processes.megabytes(process), processes.own_megabytes(process)

    ours, few = measured(large), measured(Library(large.place, _SMALL))
    return [
        Row(
            f"memory of a server that has searched{after}, MB above that with 1,000 skills",
            f"{ours[at]:,.0f} MB / {few[at]:,.0f} MB; without pages of files {ours[at + 1]:,.0f} MB / "
            f"{few[at + 1]:,.0f} MB",
            ours[at] - few[at],
            250.0,
        )
        for at, after in ((0, ""), (2, f", after {_MANY_CHANGES} changes"))
    ]


_SEARCH = """
import json, sys, time
from bench.questions import real_questions
from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.settings import read_settings
import os
hub = make_hub(read_settings(os.environ)[0], background=False)
hub.refresh()
questions = real_questions()
for question in questions[:20]:
    hub.search(question)
found = []
for question in questions[20:]:
    began, cpu = time.perf_counter(), time.process_time()
    hub.search(question)
    found.append((len(question), time.process_time() - cpu, time.perf_counter() - began))
hub.close()
print(json.dumps(found))
"""


def search(large: Library) -> list[Row]:
    """Questions that were never asked before: of people, of agents, in other languages, mistyped, and pasted texts."""
    cost = processes.run([sys.executable, "-c", _SEARCH], large.environment, directory=_ROOT)
    found = json.loads(cost.output)
    taken = [1_000 * cpu for _, cpu, _ in found]
    seconds = [1_000 * wall for _, _, wall in found]
    told = "/".join(f"{share(seconds, of):.0f}" for of in (0.5, 0.95, 0.99, 1.0))
    long = [1_000 * cpu for characters, cpu, _ in found if characters >= 1_000]
    return [
        Row(
            f"search of {len(found)} new questions, ms of CPU, p{of * 100:.0f}",
            f"p50/p95/p99/slowest {'/'.join(f'{share(taken, each):.1f}' for each in (0.5, 0.95, 0.99, 1.0))} ms of "
            f"CPU, {told} ms on the clock; the {len(long)} of 1,000 characters and more: p50 {share(long, 0.5):.0f} ms",
            share(taken, of),
            bound,
        )
        for of, bound in ((0.5, 8.0), (0.99, 60.0))
    ]


def http(large: Library) -> list[Row]:
    """Searches over HTTP, 16 connections that ask new questions as fast as they are answered."""
    with _server(large) as (port, process):
        before = processes.cpu_seconds(process)
        found = put(port, connections=16, seconds=_LOAD_SECONDS)
        cpu = (processes.cpu_seconds(process) - before) / max(found.answers, 1)
    with _server(large, workers=2) as (port, _):
        put(port, connections=16, seconds=5.0, seed=2)
        of_two = put(port, connections=16, seconds=_LOAD_SECONDS)
    return [
        Row(
            "new questions over HTTP, 16 connections: CPU ms of the server for each (150 a second are 6.7 ms)",
            f"{1_000 * cpu:.1f} ms; {_told(found)}",
            1_000 * cpu,
            1_000 / 150,
        ),
        Row(
            "new questions over HTTP, 16 connections, two workers: 150 a second against those answered",
            _told(of_two),
            150 / of_two.a_second,
            1.0,
        ),
    ]


def load(large: Library) -> list[Row]:
    """Two minutes of 64 clients, on one worker and on two."""
    rows = []
    for workers in (1, 2):
        with _server(large, workers=workers) as (port, process):
            put(port, connections=64, seconds=5.0, seed=2)
            processes.until_quiet(process)
            memory, files, cpu = (
                processes.megabytes(process),
                processes.descriptors(process),
                processes.cpu_seconds(process),
            )
            found = put(port, connections=64, seconds=_LONG_LOAD_SECONDS, seed=3)
            used = 1_000 * (processes.cpu_seconds(process) - cpu) / max(found.answers, 1)
            processes.until_quiet(process)
            after, files_after = processes.megabytes(process), processes.descriptors(process)
        rows += [
            Row(
                f"64 clients for two minutes, {workers} worker{'s' * (workers > 1)}: errors",
                f"{_told(found)}; {used:.1f} ms of CPU each; descriptors {files}, {files_after} after",
                found.errors,
                0,
            ),
            Row(
                f"64 clients for two minutes, {workers} worker{'s' * (workers > 1)}: memory after against before",
                f"{after:,.0f} MB / {memory:,.0f} MB",
                after / memory,
                1.1,
            ),
        ]
    return rows


def _told(found: Load) -> str:
    errors = f", {found.errors} errors ({found.first_errors[0]})" if found.errors else ", no errors"
    return (
        f"{found.a_second:.0f} a second, p50/p95/p99/slowest {found.p50:.0f}/{found.p95:.0f}/{found.p99:.0f}/"
        f"{found.slowest:.0f} ms{errors}"
    )


_TURNS = 9


def shell(large: Library) -> list[Row]:
    """One skill shown and one search from a shell, against the same with 1,000 skills."""
    small = Library(large.place, _SMALL)

    def cpu(library: Library, told: str) -> float:
        arguments = told.replace("NAME", f"skill-{library.count // 2:06d}").replace(
            "TEXT", "extract invoices with pandas"
        )
        return processes.run([*_OURS, *arguments.split()], library.environment).cpu

    rows = []
    for told in ("show NAME", "search TEXT"):
        # In turns: the speed of a machine that others use, too, differs by half from one minute to the next.
        pairs = [(cpu(large, told), cpu(small, told)) for _ in range(_TURNS)]
        ours, few = (median(each) for each in zip(*pairs, strict=True))
        ratio = median(one / other for one, other in pairs)
        what = f"skillhub {told}, CPU against that with 1,000 skills"
        rows.append(Row(what, f"{ours:.2f} s / {few:.2f} s, in turns", ratio, 3.0))
    return rows


# Every command that looks at all skills, but audit and overlaps, which take a quarter of an hour each, and validate,
# which fails where it finds something.
_OF_ALL = (
    "list",
    "list --json",
    "catalogue",
    "index",
    "inspect NAME",
    "roots",
    "why NAME",
    "doctor --json",
    "__complete skills",
)


def commands(large: Library) -> list[Row]:
    """The commands that look at all skills, against the same with 1,000: so many times the skills, so many times."""
    small = Library(large.place, _SMALL)

    def cost(library: Library, told: str) -> processes.Cost:
        arguments = told.replace("NAME", f"skill-{library.count // 2:06d}").split()
        return processes.run([*_OURS, *arguments], library.environment)

    rows = []
    for told in _OF_ALL:
        ours, few = cost(large, told), cost(small, told)
        figures = " / ".join(f"{one.cpu:.2f} s, {one.peak_megabytes:,.0f} MB" for one in (ours, few))
        what = f"skillhub {told}, CPU and most memory against those with 1,000 skills"
        rows.append(Row(what, figures, ours.cpu / few.cpu, large.count / _SMALL))
    return rows


ROWS: dict[str, Callable[[Library], list[Row]]] = {
    "first": first,
    "warm": warm,
    "changed": changed,
    "thousand": thousand,
    "memory": memory,
    "search": search,
    "http": http,
    "load": load,
    "shell": shell,
    "commands": commands,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"rows to measure: {', '.join(ROWS)}; without any, all")
    parser.add_argument("--count", type=int, default=100_000, help="how many skills (default: 100000)")
    parser.add_argument("--place", type=Path, help="directory that keeps libraries, indexes and rows for the next run")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md also after a part of the rows")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row is named {unknown[0]!r}; there are {', '.join(ROWS)}")
    if not (SHARED / "corpus" / "skills").is_dir():
        parser.error(f"the real skills are not at {SHARED / 'corpus' / 'skills'}")
    with tempfile.TemporaryDirectory(prefix="skillhub-scale-") as scratch:
        large = Library((chosen.place or Path(scratch)).resolve(), chosen.count)
        kept = large.place / f"rows-{large.count}.json"
        rows: dict[str, list[Row]] = {}
        if kept.is_file():
            stored = json.loads(kept.read_text(encoding="utf-8"))
            rows = {name: [Row(**row) for row in own] for name, own in stored.items()}
        measured = list(chosen.rows or ROWS)
        for name in measured:
            rows[name] = ROWS[name](large)
            for row in rows[name]:
                verdict = "kept" if row.kept else "BROKEN"
                print(f"{verdict:<7}{row.measured:>9.2f} <= {row.bound:<7.4g}{row.what}: {row.figures}", flush=True)
            told = {name: [asdict(row) for row in own] for name, own in rows.items()}
            kept.write_text(json.dumps(told), encoding="utf-8")
    if chosen.write or not chosen.rows:
        _write_report([row for name in ROWS for row in rows.get(name, [])], chosen.count)
    return 0 if all(row.kept for name in measured for row in rows[name]) else 1


def _write_report(rows: Sequence[Row], count: int) -> None:
    machine = f"Python {platform.python_version()} on {platform.system()}, {os.cpu_count()} cores"
    lines = [
        f"{count:,} skills, {machine}. A row ends with the commit that it was measured at.",
        "",
        "| what | figures | measured | bound |",
        "|---|---|---|---|",
        *(f"| {row.what} | {row.figures}; {row.commit} | {row.measured:,.2f} | {_bound(row)} |" for row in rows),
        "",
    ]
    before, rest = _REPORT.read_text(encoding="utf-8").split(_BETWEEN[0])
    after = rest.split(_BETWEEN[1])[1]
    _REPORT.write_text(before + _BETWEEN[0] + "\n".join(lines) + _BETWEEN[1] + after, encoding="utf-8")


def _bound(row: Row) -> str:
    return f"{row.bound:,.4g}" if row.kept else f"{row.bound:,.4g}, **not kept**"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
