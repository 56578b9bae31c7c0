"""Writers of the index killed by SIGKILL at random moments, as real processes: what is there then, and after the next.

python -m bench.kills                                   # 40 kills, at 2,000 skills
python -m bench.kills --kills 100 --seed 3              # others
python -m bench.kills --place DIR --count 100000 --kills 10    # the library that bench/scale.py keeps there

Skills are edited, added and removed. After each kill the committed version is the one before or the new one, row by
row; the next `skillhub index` completes it, `--verify` finds every row, and no text was embedded again
that had its vector. Publishers are killed by tests/store/test_several_publishers.py with SKILLHUB_KILLS=100.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))

from bench.library import write_library  # noqa: E402
from tests.fakes.embedding_api import EmbeddingApi  # noqa: E402 - the project's root comes first

from skillhub_mcp.index.state_file import STATE_FILE, LibraryKeys, decode_state  # noqa: E402
from skillhub_mcp.index.store import Store  # noqa: E402

_OURS = (sys.executable, "-m", "skillhub_mcp")
_STEP_SECONDS = 0.003
_OWN = 500
_MOST_CHANGED = 200

Rows = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A library of two servers and their one database below `folder`; with `texts` of skills embedded by `api`."""

    folder: Path
    skills: tuple[Path, Path]
    api: EmbeddingApi | None

    @property
    def database(self) -> Path:
        return self.folder / "db" / "skills.lancedb"

    def environment(self, *roots: Path) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        # What bench/scale.py keeps has the vectors of the default.
        embedding: dict[str, str] = {}
        if self.api is not None:
            embedding = {
                "EMBEDDING_PROVIDER": "openai",
                "OPENAI_API_KEY": "a-key-of-the-driver",
                "EMBEDDING_BASE_URL": self.api.url_for("openai"),
            }
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SKILLS_DIR": os.pathsep.join(map(str, roots or self.skills)),
            "DB_PATH": str(self.database),
            "SKILLHUB_AUDIT": "off",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
            **embedding,
        }

    def run(self, *arguments: str, roots: tuple[Path, ...] = ()) -> None:
        """Run a command to its end. Raises RuntimeError where it fails."""
        done = subprocess.run(
            [*_OURS, *arguments], env=self.environment(*roots), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}")

    def rows(self) -> Rows:
        """Return the content hash of each row of the committed version by its directory."""
        state = decode_state(self.database.with_name(STATE_FILE).read_bytes())
        if not state.is_readable:
            raise RuntimeError("the committed state cannot be read")
        table = Store(str(self.database), state.table).open(
            state.published.version, created_as=state.published.table_id
        )
        keys = LibraryKeys({path: root.label for path, root in state.roots.items()})
        hashes = table.hashes()
        return dict(zip(keys.directories(hashes), hashes.values(), strict=True))

    def files(self) -> Rows:
        """Return the content hash of each SKILL.md by its directory."""
        return {
            str(file.parent): hashlib.sha256(file.read_bytes()).hexdigest()
            for root in self.skills
            for file in root.rglob("SKILL.md")
        }

    @property
    def texts(self) -> int:
        return 0 if self.api is None else len(self.api.texts)


@dataclass
class Outcome:
    """What the kills of one kind found: how many, which version so many of them left, and what is wrong."""

    kills: int = 0
    left: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _marks(folder: Path) -> list[tuple[str, int]]:
    """What tells that anything below a folder was created, renamed or removed."""
    return [(directory, os.stat(directory).st_mtime_ns) for directory, _, _ in os.walk(folder)]


def _writing_seconds(place: Place, roots: tuple[Path, ...]) -> float:
    """Return how long a writer works from its first file to its end."""
    with _begun(place, roots) as process:
        began = time.monotonic()
        if process.wait():
            raise RuntimeError("skillhub index failed where nobody killed it")
        return time.monotonic() - began


def _begun(place: Place, roots: tuple[Path, ...]) -> subprocess.Popen[bytes]:
    """Start a writer, and return when it has made its first file, or has ended."""
    before = _marks(place.folder / "db")
    command = [*_OURS, "index"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env=place.environment(*roots), stdout=quiet, stderr=quiet)
    while process.poll() is None:
        try:
            if _marks(place.folder / "db") != before:
                break
        except FileNotFoundError:
            break
        time.sleep(_STEP_SECONDS)
    return process


def _kill_one(place: Place, seconds: float, roots: tuple[Path, ...]) -> bool:
    """Kill a writer so long after its first file; return whether it was killed before it ended."""
    with _begun(place, roots) as process:
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(_STEP_SECONDS)
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def _check(place: Place, outcome: Outcome, before: Rows, after: Rows, *, roots: tuple[Path, ...], said: str) -> None:
    """Compare what a kill left with what was and what was to be, and then complete it."""
    try:
        rows = place.rows()
        _must(rows in (before, after), f"the published rows are neither those before nor those after ({len(rows)})")
        which = "the rows before" if rows == before else "the new rows"
        outcome.left[which] += 1
        place.run("index", "--json", roots=roots)
        place.run("index", "--verify", "--json", roots=roots)
        rows = place.rows()
        _must(rows == after, f"after the next command: {len(rows)} rows of {len(after)}")
    except Exception as error:  # noqa: BLE001 - the outermost handler: each kill is told, whatever it broke
        outcome.wrong.append(f"{said}: {type(error).__name__}: {error}")


def _must(holds: bool, wrong: str) -> None:
    if not holds:
        raise RuntimeError(wrong)


def changes(place: Place, kills: int, chance: random.Random) -> Outcome:
    """Kill writers of changes: edited, new and removed skills, from one to hundreds."""
    outcome, rounds = Outcome(), 0
    seconds = [_change(place, chance, rounds, many) and _writing_seconds(place, ()) for many in (1, _MOST_CHANGED)]
    print(f"a change writes for {seconds[0]:.1f} to {seconds[1]:.1f} s", flush=True)
    place.run("index")
    before = place.files()
    while outcome.kills < kills:
        rounds += 1
        many = 1 if chance.random() < 0.5 else chance.randint(2, _MOST_CHANGED)
        paid, changed = place.texts, _change(place, chance, rounds, many)
        after = place.files() if place.api is not None else _files_of(place.skills[1], before)
        moment = chance.uniform(0, seconds[many > 1])
        killed = _kill_one(place, moment, ())
        said = f"{many} changed, after {moment:.2f} s"
        if killed:
            outcome.kills += 1
            _check(place, outcome, before, after, roots=(), said=said)
            # What the killed one had embedded and not published yet is embedded once more.
            if place.texts - paid > 2 * changed:
                outcome.wrong.append(f"{said}: {place.texts - paid} texts were embedded for {changed} changed ones")
            _tell(outcome, kills)
        else:
            place.run("index")
        before = after
    return outcome


def _files_of(root: Path, before: Rows) -> Rows:
    """Return what the files of one root are now, with those of the others as they were."""
    others = {path: digest for path, digest in before.items() if not path.startswith(f"{root}/")}
    now = {str(file.parent): hashlib.sha256(file.read_bytes()).hexdigest() for file in root.rglob("SKILL.md")}
    return others | now


def _change(place: Place, chance: random.Random, number: int, many: int) -> int:
    """Edit so many skills of the second root, add one and remove one; return how many texts are another."""
    root = place.skills[1]
    there = sorted(file.parent for file in root.rglob("SKILL.md"))
    for folder in chance.sample(there, min(many, len(there))):
        text = (folder / "SKILL.md").read_text("utf-8")
        head, _, rest = text.partition("\ndescription: ")
        changed = f"{head}\ndescription: In round {number}, {rest}"
        (folder / "SKILL.md").write_text(changed, "utf-8")
    shutil.rmtree(chance.choice(there))
    new = root / f"new-{number:04d}-{many}"
    new.mkdir()
    (new / "SKILL.md").write_text(
        f"---\nname: {new.name}\ndescription: Added in round {number}.\n---\nText.\n", "utf-8"
    )
    return many + 1


def _tell(outcome: Outcome, kills: int) -> None:
    right = outcome.kills - len(outcome.wrong)
    print(f"{right} of {outcome.kills} right ({kills} to come in all)", flush=True)


def _made(folder: Path, count: int, api: EmbeddingApi) -> Place:
    """Write a library of two servers and index it, with vectors."""
    small = max(1, min(_OWN, count // 4))
    a, b = folder / "skills" / "a", folder / "skills" / "b"
    place = Place(folder, (write_library(a, count - small), write_library(b, small, seed=8)), api)
    for root in place.skills:
        place.run("index", roots=(root,))
    return place


def _copied(folder: Path, kept: Path, count: int) -> Place:
    """Copy the index of a library that bench/scale.py keeps; a second root, which may change, is made beside it."""
    own = write_library(folder / "skills" / "b", _OWN, seed=8)
    place = Place(folder, (kept / f"skills-{count}", own), None)
    shutil.copytree(kept / f"db-{count}", folder / "db")
    place.run("index")
    return place


@contextmanager
def _place(arguments: argparse.Namespace, api: EmbeddingApi) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        folder = Path(name).resolve()
        if arguments.place is None:
            yield _made(folder, arguments.count, api)
        else:
            yield _copied(folder, arguments.place, arguments.count)


def main() -> int:
    """Kill, and tell. Returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--place", type=Path, help="where bench/scale.py keeps its libraries; they are only read")
    parser.add_argument("--scratch", help="a directory for the copies")
    arguments = parser.parse_args()
    with EmbeddingApi() as api, _place(arguments, api) as place:
        outcome = changes(place, arguments.kills, random.Random(arguments.seed))
    left = ", ".join(f"{count} left {what}" for what, count in sorted(outcome.left.items()))
    right = f"{outcome.kills - len(outcome.wrong)} of {outcome.kills} right"
    print(f"{arguments.count:,} skills: {right}; {left}", *outcome.wrong, sep="\n", flush=True)
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
