"""What is promised about speed, and how each promise is measured."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bench.library import tasks, write_from_corpus, write_library
from bench.processes import own_megabytes, run
from bench.serving import load, native_listing, reply_times, resident_megabytes
from bench.wire import StdioServer

from skillhub_mcp.evaluation.measures import mean_quality

_HERE = Path(__file__).parent
_OURS = (sys.executable, "-m", "skillhub_mcp")
_BARE = (sys.executable, str(_HERE / "bare_server.py"))
_ASKED = 40
_SECONDS_BETWEEN_CALLS = 2.0
# Within these a server of some hundred skills has done all that it does in the background.
_SETTLED_SECONDS = 5.0


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
        # As without the extra: word vectors, where they are installed, have a measure of their own.
        "EMBEDDING_PROVIDER": "none",
    }


def _indexed(scratch: Path, count: int, **settings: str) -> dict[str, str]:
    environment = _environment(write_library(scratch / "skills", count), scratch / "db" / "skills.lancedb")
    environment |= settings
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

    def until(command: tuple[str, ...], methods: Sequence[str], sets: str = "core") -> float:
        with StdioServer(command, {**environment, "SKILLHUB_TOOLS": sets}) as server:
            server.initialize()
            for method in methods:
                server.request(method)
            return server.since_start

    outcomes = []
    for promise, methods, sets, bound in (
        ("initialize answered", (), "core", 1.15),
        ("tools/list answered", ("tools/list",), "core", 1.2),
        ("initialize answered with every set of tools and instructions that name skills", (), "all", 1.3),
    ):
        a, b, ratio = _pairs(
            lambda m=methods, s=sets: until(_OURS, m, s),  # type: ignore[misc]
            lambda m=methods: until(_BARE, m),  # type: ignore[misc]
            11,
        )
        outcomes.append(
            Outcome(
                f"process start to {promise}, stdio, 1,000 unchanged skills, against a bare FastMCP server",
                f"{a:.2f} s / {b:.2f} s",
                ratio,
                bound,
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

    def bare() -> float:
        with StdioServer(_BARE, environment) as server:
            server.initialize()
            server.call("echo", {"text": "extract invoices with pandas"})
            return server.since_start

    a, b, ratio = _pairs(ours, bare, 11)
    return [
        Outcome(
            "process start to the first search_skills answered, 1,000 skills, against a bare server and its tool",
            f"{a:.2f} s / {b:.2f} s",
            ratio,
            2.0,
        )
    ]


def small_library(scratch: Path) -> list[Outcome]:
    """What a person with some hundred real skills has: a search from a shell, and a server's memory."""
    corpus = _corpus()
    if corpus is None:
        return []
    environment = _environment(write_from_corpus(corpus, scratch / "skills", 1_000), scratch / "db" / "skills.lancedb")
    environment |= {"EMBEDDING_PROVIDER": "local"}

    def command(*arguments: str) -> float:
        return _timed(
            lambda: subprocess.run([*_OURS, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
        )

    command("index")
    a, b, ratio = _pairs(lambda: command("search", "extract invoices with pandas"), lambda: command("list"), 11)
    few = _environment(write_from_corpus(corpus, scratch / "few", 417), scratch / "few-db" / "skills.lancedb")
    memory = {
        provider: _memory_after_a_search({**few, "EMBEDDING_PROVIDER": provider}) for provider in ("none", "local")
    }
    idle, bare = _memory(_OURS, few)[0], _memory(_BARE, few)[0]
    return [
        Outcome(
            "skillhub search against skillhub list, 1,000 real skills, word vectors",
            f"{a:.2f} s / {b:.2f} s",
            ratio,
            3.0,
        ),
        Outcome(
            "MB of memory of a server that has searched 417 real skills, with word vectors",
            f"{memory['local'][0]:.0f} MB, {memory['local'][1]:.0f} MB of it not of files; without word vectors "
            f"{memory['none'][0]:.0f} MB",
            memory["local"][0],
            320.0,
        ),
        Outcome(
            "memory of an idle server of 417 unchanged skills, against that of a bare FastMCP server",
            f"{idle:.0f} MB / {bare:.0f} MB",
            idle / bare,
            1.3,
        ),
    ]


def _memory_after_a_search(environment: dict[str, str]) -> tuple[float, float]:
    """Return the memory of a server in MB, and how much of it is not of files."""
    subprocess.run([*_OURS, "index", "--json"], env=environment, check=True, stdout=subprocess.DEVNULL)
    # The first server makes what native hosts ask for; like every later one, the second has it.
    for _ in range(2):
        memory = _memory(_OURS, environment, tasks(20))
    return memory


def _memory(command: tuple[str, ...], environment: dict[str, str], asked: Sequence[str] = ()) -> tuple[float, float]:
    with StdioServer(command, environment) as server:
        server.initialize()
        server.request("tools/list")
        for task in asked:
            server.call("search_skills", {"query": task})
        time.sleep(_SETTLED_SECONDS)
        return resident_megabytes(server.process), own_megabytes(server.process)


def nothing_changed(scratch: Path) -> list[Outcome]:
    from skillhub_mcp.index.live import LiveOptions, LiveView
    from skillhub_mcp.index.writer import IndexWriter
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

    def decide() -> None:
        writer = IndexWriter(database, embedder=None)
        live = LiveView(roots, writer, LiveOptions(background=False))
        assert live.sync().report is None

    a, b, ratio = _pairs(lambda: _timed(decide), lambda: _timed(lambda: bare_walk(environment["SKILLS_DIR"])), 9)
    return [
        Outcome(
            'deciding "nothing changed" for 10,000 skills, against a bare os.scandir and stat walk of the same tree',
            f"{a:.3f} s / {b:.3f} s",
            ratio,
            3.0,
        )
    ]


def served_as_locked(scratch: Path) -> list[Outcome]:
    """What SKILLHUB_FROZEN costs where nothing was changed since the skills were locked."""
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.settings import read_settings

    environment = _indexed(scratch, 10_000)
    subprocess.run([*_OURS, "lock", "--json"], env=environment, check=True, stdout=subprocess.DEVNULL)
    # What was just written is hashed again by the next look: two seconds pass.
    time.sleep(_SETTLED_SECONDS)
    ways = {frozen: {**environment, "SKILLHUB_FROZEN": frozen} for frozen in ("1", "0")}

    def command(frozen: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*_OURS, "search", "extract invoices"], env=ways[frozen], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    first, shell = command("1"), _pairs(lambda: command("1"), lambda: command("0"), 7)
    asked = iter(tasks(120))
    hubs = {frozen: make_hub(read_settings(way)[0], background=False) for frozen, way in ways.items()}

    def look(frozen: str) -> float:
        began = time.process_time()
        hubs[frozen].refresh()
        assert hubs[frozen].search(next(asked)).hits
        return time.process_time() - began

    looks = _pairs(lambda: look("1"), lambda: look("0"), 41)
    for hub in hubs.values():
        hub.close()
    return [
        Outcome(
            "CPU of a look at 10,000 locked skills and a search, with SKILLHUB_FROZEN=1 against without",
            f"{1000 * looks[0]:.0f} ms / {1000 * looks[1]:.0f} ms",
            looks[2],
            1.1,
        ),
        Outcome(
            "CPU of skillhub search with 10,000 locked skills, with SKILLHUB_FROZEN=1 against without",
            f"{shell[0]:.2f} s / {shell[1]:.2f} s; the first time, when all are hashed, {first:.2f} s",
            shell[2],
            2.0,
        ),
    ]


def registry_scan(scratch: Path) -> list[Outcome]:
    from skillhub_mcp.skills.roots import make_roots
    from skillhub_mcp.skills.scanner import scan

    library = write_library(scratch / "skills", 10_000)
    roots = make_roots([str(library)])
    # What the scan reads of each of these: their frontmatter ends within it.
    prefix = 2_048

    def bare_loop() -> None:
        for directory, _, files in os.walk(library):
            if "SKILL.md" in files:
                with open(os.path.join(directory, "SKILL.md"), "rb") as file:
                    file.read(prefix)

    def ours() -> None:
        assert len(scan(roots, memory={}, whole=False).snapshot.skills) == 10_000

    a, b, ratio = _pairs(lambda: _timed(ours), lambda: _timed(bare_loop), 9)
    return [
        Outcome(
            "a registry scan of 10,000 skills, against a bare loop that walks to and reads the same bytes",
            f"{a:.2f} s / {b:.2f} s",
            ratio,
            4.0,
        )
    ]


def validation(_: Path) -> list[Outcome]:
    from skills_ref.validator import validate

    from skillhub_mcp.cli.main import run

    corpus = _corpus()
    if corpus is None:
        return []
    directories = sorted(file.parent for file in corpus.rglob("SKILL.md"))

    def ours() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            run(["validate", str(corpus)])

    def theirs() -> None:
        for directory in directories:
            with contextlib.suppress(UnicodeDecodeError):
                validate(directory)

    a, b, ratio = _pairs(lambda: _timed(ours), lambda: _timed(theirs), 3)
    return [
        Outcome(
            f"skillhub validate of {len(directories):,} real skills with advice and costs, against skills-ref",
            f"{a:.1f} s / {b:.1f} s",
            ratio,
            0.2,
        )
    ]


def servable(scratch: Path) -> list[Outcome]:
    """How many of the real skills can be loaded, by whatever name a client is told of them."""
    corpus = _corpus()
    if corpus is None:
        return []
    files = list(corpus.rglob("SKILL.md"))
    # That provider looks one level below a root, so it is told of every directory that holds skills.
    roots = sorted({file.parent.parent for file in files})
    found = len(files)
    shares = {
        "SkillHub": _loadable(corpus, scratch / "lenient", strict=False),
        f"FastMCP {version('fastmcp')}'s skills provider": _accepted_by_fastmcp(roots, found),
        "SkillHub with SKILLHUB_STRICT=1": _loadable(corpus, scratch / "strict", strict=True),
    }
    ours, *others = shares.values()
    return [
        Outcome(
            f"the best other way's share of {found:,} real skills that can be loaded, against ours",
            ", ".join(f"{name} {count / found:.1%}" for name, count in shares.items()),
            max(others) / ours,
            0.999,
        )
    ]


def _loadable(corpus: Path, scratch: Path, *, strict: bool) -> int:
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.settings import read_settings

    environment = {**_environment(corpus, scratch / "skills.lancedb"), "SKILLHUB_STRICT": "1" if strict else "0"}
    settings, _ = read_settings(environment)
    hub = make_hub(settings, background=False)
    loaded = 0
    for one in hub.listed():
        with contextlib.suppress(SkillHubError):
            loaded += hub.load(one.handle).skill.directory == one.skill.directory
    hub.close()
    return loaded


def _accepted_by_fastmcp(roots: Sequence[Path], found: int) -> int:
    """Return how many skills FastMCP's provider accepts; with one that it refuses, its server does not start."""
    from fastmcp.skills.provider import SkillsDirectoryProvider

    try:
        SkillsDirectoryProvider(roots)
    except ValueError as error:
        return found - sum(line.startswith("- ") for line in str(error).splitlines())
    return found


def _corpus() -> Path | None:
    """The real skills that lie beside the project on the machines of its founders."""
    directory = _HERE.parents[1] / "shared" / "corpus" / "skills"
    return directory if directory.is_dir() else None


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def live_change(scratch: Path) -> list[Outcome]:
    return [_live_change(scratch / str(count), count, bound) for count, bound in ((1_000, 1.0), (10_000, 2.0))]


def _live_change(scratch: Path, count: int, bound: float) -> Outcome:
    environment = _indexed(scratch, count)
    name = f"skill-{count // 2:06}"
    skill = Path(environment["SKILLS_DIR"]) / name / "SKILL.md"
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
                if name in answer["content"][0]["text"]:
                    break
                time.sleep(0.05)
            seconds.append(time.perf_counter() - start)
    return Outcome(
        f"seconds until a running server finds the new text of one changed skill of {count:,}",
        ", ".join(f"{second:.2f} s" for second in seconds),
        max(seconds),
        bound,
    )


def first_index(scratch: Path) -> list[Outcome]:
    """A first index, against reading the same files and writing the same rows with LanceDB alone."""
    environment = _environment(write_library(scratch / "skills", 10_000), scratch / "db" / "skills.lancedb")
    ours = run([*_OURS, "index", "--json"], environment).cpu
    code = "import sys; from bench.searching import ingest; ingest(*sys.argv[1:])"
    alone = [sys.executable, "-c", code, environment["SKILLS_DIR"], environment["DB_PATH"], str(scratch / "bare")]
    bare = run(alone, environment, directory=_HERE.parent).cpu
    return [
        Outcome(
            "CPU of the first index of 10,000 skills, against reading the files and LanceDB's ingestion of the rows",
            f"{ours:.1f} s / {bare:.1f} s",
            ours / bare,
            3.0,
        )
    ]


def calls(scratch: Path) -> list[Outcome]:
    """How much of SkillHub's own code one search and one load pass through."""
    from bench.searching import profile

    environment = _indexed(scratch, 300)
    bounds = {"search": (250, 18), "load": (90, 15)}
    outcomes = []
    for what, (made, modules) in profile(environment).items():
        for unit, measured, bound in (("calls", made, bounds[what][0]), ("modules", modules, bounds[what][1])):
            promise = f"{unit} of SkillHub's own code in one {what}, 300 skills"
            outcomes.append(Outcome(promise, f"{measured:,}", float(measured), float(bound)))
    return outcomes


def disk(scratch: Path) -> list[Outcome]:
    from bench.disk import growth

    corpus = _corpus()
    if corpus is None:
        return []
    library = write_from_corpus(corpus, scratch / "skills", 1_000)
    fresh, sizes = growth(_environment(library, scratch / "db" / "skills.lancedb"), 1_000)
    above = sum(size > 2 * fresh for size in sizes) / len(sizes)
    return [
        Outcome(
            "bytes of an index of 1,000 skills after 1,000 changes, one a second, against those of a new one",
            f"{sizes[-1] / 1e6:.1f} MB / {fresh / 1e6:.1f} MB; the median {statistics.median(sizes) / 1e6:.1f} MB, the "
            f"most {max(sizes) / 1e6:.1f} MB; above twice for the {above:.0%} of the time in which a merge is new",
            sizes[-1] / fresh,
            2.0,
        )
    ]


def surface(scratch: Path) -> list[Outcome]:
    environment = _environment(write_library(scratch / "skills", 1), scratch / "db" / "skills.lancedb")
    with StdioServer(_OURS, environment) as server:
        server.initialize()
        size = len(json.dumps(server.request("tools/list"), separators=(",", ":"), ensure_ascii=False).encode())
    return [Outcome("bytes of tools/list, default surface", f"{size:,} bytes", float(size), 2_500)]


def search_speed(scratch: Path, *, count: int, bound: float) -> list[Outcome]:
    """Search of a library made from real skills, beside LanceDB's and sqlite's full text over the same ones."""
    corpus = _corpus()
    if corpus is None:
        return []
    library, database = write_from_corpus(corpus, scratch / "skills", count), scratch / "db" / "skills.lancedb"
    code = "import sys; from bench.searching import figures; print(*figures(*sys.argv[1:]), sep='\\n')"
    # A process of its own, so that its memory is that of this library.
    done = subprocess.run(
        [sys.executable, "-c", code, str(library), str(database), str(_queries())],
        cwd=_HERE.parent,
        env=_environment(library, database),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told, ratio = done.stdout.splitlines()
    promise = f"search of {count:,} skills, p50, against LanceDB's own full-text query for the same terms"
    return [Outcome(promise, told, float(ratio), bound)]


def quality(_: Path) -> list[Outcome]:
    """How well the right skills are found, with word vectors; docs/benchmarks.md says how to repeat the tables."""
    from bench.quality import measure as measure_quality
    from bench.quality import ways_of_asking

    if _corpus() is None:
        return []
    asked = ways_of_asking()
    bounds = {"held out: an agent, the field's terms": 0.06, "held out: people": 0.33, "development: people": 0.28}
    outcomes = []
    for way, found in measure_quality({way: asked[way] for way in bounds}).items():
        mean = mean_quality(found.qualities)
        told = f"nDCG@10 {mean.ndcg_at_10:.3f}, Hit@1 {mean.hit_at_1:.3f}, R@10 {mean.recall_at_10:.3f}"
        outcomes.append(Outcome(f"what nDCG@10 lacks, {way}", told, 1 - mean.ndcg_at_10, bounds[way]))
    return outcomes


def serving(scratch: Path) -> list[Outcome]:
    # As agents ask: with word vectors installed, another question each time, and some seconds between two calls.
    asking = _indexed(scratch / "asking", 1_000, EMBEDDING_PROVIDER="local")
    ours, theirs, ratio = reply_times(asking, tasks(60), rounds=_ASKED, pause=_SECONDS_BETWEEN_CALLS)
    environment = _indexed(scratch / "plain", 1_000)
    rate, before, after = load(environment, clients=32, requests=10_000)
    # By a server whose entries an earlier one has made, as after every start but the first.
    listing, their_listing = native_listing(environment)
    return [
        Outcome(
            "search_skills over HTTP as agents ask (1,000 skills, word vectors, a new question every two seconds), "
            "p50, against a FastMCP tool that returns the same constant",
            f"{ours:.1f} ms / {theirs:.1f} ms",
            ratio,
            2.5,
        ),
        Outcome(
            "skills/list of 1,000 skills, all pages, against FastMCP's own provider",
            f"{listing:.2f} s / {their_listing:.1f} s",
            listing / their_listing,
            0.02,
        ),
        Outcome(
            "memory after 10,000 requests of 32 clients, against that after 1,000",
            f"{after:.0f} MB / {before:.0f} MB, {rate:.0f} requests a second",
            after / before,
            1.1,
        ),
    ]


def _queries() -> Path:
    return _HERE.parents[1] / "shared" / "eval" / "queries.jsonl"


MEASURES: dict[str, Callable[[Path], list[Outcome]]] = {
    "startup": startup,
    "first_search": first_search,
    "small_library": small_library,
    "nothing_changed": nothing_changed,
    "served_as_locked": served_as_locked,
    "registry_scan": registry_scan,
    "live_change": live_change,
    "first_index": first_index,
    "calls": calls,
    "validation": validation,
    "servable": servable,
    "disk": disk,
    "surface": surface,
    "serving": serving,
    "quality": quality,
    "search_speed_1000": partial(search_speed, count=1_000, bound=4.0),
    "search_speed_10000": partial(search_speed, count=10_000, bound=4.0),
    "search_speed_100000": partial(search_speed, count=100_000, bound=5.0),
}


def measure(name: str) -> list[Outcome]:
    """Run one measure in a directory of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="skillhub-bench-") as scratch:
        return MEASURES[name](Path(scratch))
