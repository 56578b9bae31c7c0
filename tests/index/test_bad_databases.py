"""Faults of files, database, disk or process: a clear message, and a hub that answers."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock
from tests.hubs import hub_of
from tests.search.builders import COMMAND, Desk, published_rows, skillhub

from skillhub_mcp.cli.main import run
from skillhub_mcp.index.schema import table_schema
from skillhub_mcp.index.state_file import STATE_FILE
from skillhub_mcp.index.store import Store
from skillhub_mcp.index.writer import LOCK_FILE, SyncDepth
from skillhub_mcp.server.http.pages import readiness

pytestmark = pytest.mark.slow

Writer = Callable[..., Path]
# Limits how long a test can hang.
LONG = 120.0
Environment = dict[str, str]


class Done(NamedTuple):
    """The exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def eventually(ask: Callable[[], object], wanted: object) -> None:
    deadline = time.monotonic() + LONG
    while (answer := ask()) != wanted:
        assert time.monotonic() < deadline, f"still {answer!r}, not {wanted!r}"
        threading.Event().wait(0.05)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Run a `skillhub` command in this process, which is faster than a new one.

    `skillhub` runs one that is a process, where a test is about what ends with it or what it may do.
    """

    def go(environment: Environment, *arguments: str) -> Done:
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            code = run(arguments)
        captured = capsysbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return go


def database(environment: Environment) -> Path:
    return Path(environment["DB_PATH"])


def state_of(environment: Environment) -> Path:
    return database(environment).with_name(STATE_FILE)


def found(environment: Environment, query: str) -> list[str]:
    """Return what a new hub finds."""
    with hub_of(environment) as hub:
        return sorted(hit.skill.name for hit in hub.search(query).hits)


# Files


@pytest.fixture
def bad_neighbours(skills_dir: Path, write_skill: Writer) -> list[str]:
    """Broken SKILL.md files of every kind beside two good ones; returns their directory names."""
    write_skill("good-one", "About walruses.")
    write_skill("good-two", "About walruses too.")
    contents: dict[str, bytes] = {
        "empty": b"",
        "binary": bytes(range(256)) * 64,
        "nul": b"---\nname: nul\0\ndescription: \0\n---\n",
        "unclosed": b"---\nname: unclosed\ndescription: never ends\n",
        "no-yaml": b"---\n{[}: - :\n---\nbody",
        "no-description": b"---\nname: no-description\n---\nbody",
        "aliases": b"---\n" + b"a: &a [x, x]\n" + b"".join(b"a%d: [*a, *a]\n" % n for n in range(500)) + b"---\n",
        "huge": b"---\nname: huge\ndescription: huge\n---\n" + b"x" * (17 * 1024 * 1024),
        "huge-header": b"---\nname: h\ndescription: " + b"y" * 200_000 + b"\n---\n",
        "deep": b"---\nname: d\nmetadata: " + b"[" * 5_000 + b"\n---\n",
    }
    for name, content in contents.items():
        (skills_dir / name).mkdir()
        (skills_dir / name / "SKILL.md").write_bytes(content)
    (skills_dir / "directory" / "SKILL.md").mkdir(parents=True)
    (skills_dir / "fifo").mkdir()
    os.mkfifo(skills_dir / "fifo" / "SKILL.md")
    (skills_dir / "dangling").mkdir()
    (skills_dir / "dangling" / "SKILL.md").symlink_to("nowhere")
    (skills_dir / "loop").symlink_to(skills_dir)
    return [*contents, "directory", "fifo", "dangling"]


@pytest.mark.acceptance("S2-53")
def test_broken_files_are_named_and_do_not_affect_others(
    hub_environment: Environment, command: Command, bad_neighbours: list[str]
) -> None:
    done = command(hub_environment, "index", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    named = {Path(refused["path"]).name for refused in report["refused"]}
    named |= {Path(problem["subject"]).parent.name for problem in report["problems"]}
    assert named == set(bad_neighbours)
    assert all(refused["diagnostics"] for refused in report["refused"])
    assert report["served"] == 2
    assert found(hub_environment, "walruses") == ["good-one", "good-two"]
    assert json.loads(command(hub_environment, "index", "--json").stdout)["index"] == {"changed": False}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_named(hub_environment: Environment, command: Command, write_skill: Writer) -> None:
    write_skill("good", "About walruses.")
    (write_skill("locked") / "SKILL.md").chmod(0)
    report = json.loads(command(hub_environment, "index", "--json").stdout)
    assert [Path(refused["path"]).name for refused in report["refused"]] == ["locked"]
    assert found(hub_environment, "walruses") == ["good"]


def test_files_that_change_during_indexing_are_handled(
    hub_environment: Environment, skills_dir: Path, write_skill: Writer
) -> None:
    for number in range(20):
        write_skill(f"steady-{number:02}", "About walruses.")
    done = threading.Event()

    def churn() -> None:
        chance = random.Random(7)
        while not done.is_set():
            name = f"flaky-{chance.randrange(20):02}"
            if chance.random() < 0.5:
                write_skill(name, "About walruses " + "too. " * chance.randrange(9))
            else:
                shutil.rmtree(skills_dir / name, ignore_errors=True)

    churner = threading.Thread(target=churn)
    churner.start()
    try:
        for _ in range(5):
            with hub_of(hub_environment) as hub:
                names = {skill.name for skill in hub.skills()}
                assert {f"steady-{number:02}" for number in range(20)} <= names
                assert hub.refresh().problem is None
    finally:
        done.set()
        churner.join()
    with hub_of(hub_environment) as hub:
        hub.refresh()
        names = {skill.name for skill in hub.skills()}
    assert set(published_rows(database(hub_environment))) == names
    assert len(published_rows(database(hub_environment))) == len(names)


@pytest.mark.parametrize("there", [True, False])
def test_an_empty_library_is_reported_with_a_fix(
    hub_environment: Environment, command: Command, skills_dir: Path, *, there: bool
) -> None:
    if not there:
        skills_dir.rmdir()
    done = command(hub_environment, "index")
    # An empty directory is valid, a missing one is an error.
    assert done.returncode == (0 if there else 1), done.stderr
    assert ("No SKILL.md was found" in done.stdout) == there
    assert str(skills_dir) in done.stdout
    done = command(hub_environment, "search", "walruses")
    assert done.returncode == (0 if there else 1)
    assert done.stdout.startswith(f"No skills:\n  {skills_dir}\n")


# Databases that cannot be written


@contextlib.contextmanager
def mounted(*arguments: str, at: Path) -> Iterator[None]:
    """Mount a file system at `at`, or skip the test if that is not allowed."""
    at.mkdir(parents=True, exist_ok=True)
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root can mount")
    done = subprocess.run(["mount", *arguments, str(at)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mount is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def test_a_database_path_that_is_a_file_is_named_and_kept(
    hub_environment: Environment, command: Command, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    (tmp_path / "precious").write_text("not ours", encoding="utf-8")
    environment = {**hub_environment, "SKILLHUB_DB_PATH": str(tmp_path / "precious")}
    done = command(environment, "index")
    assert done.returncode == 1
    assert environment["SKILLHUB_DB_PATH"] in done.stderr
    assert found(environment, "walruses") == ["one"]
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "not ours"


def test_a_read_only_database_keeps_answering_and_is_named(
    hub_environment: Environment, command: Command, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    assert command(hub_environment, "index").returncode == 0
    directory = database(hub_environment).parent
    with mounted("--bind", str(directory), at=tmp_path / "view"):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(tmp_path / "view")], check=True)
        environment = {**hub_environment, "DB_PATH": str(tmp_path / "view" / "skills.lancedb")}
        assert command(environment, "index").returncode == 0
        write_skill("two", "About walruses too.")
        done = command(environment, "index")
        assert done.returncode == 1
        assert environment["DB_PATH"] in done.stderr
        done = command(environment, "search", "walruses")
        assert done.returncode == 0
        assert "one" in done.stdout
        with hub_of(environment) as hub:
            assert "two" in [hit.skill.name for hit in hub.search("walruses").hits]
            assert hub.load("two").skill.name == "two"
    assert found(hub_environment, "walruses") == ["one", "two"]


def test_a_read_only_disk_is_served_from_memory(
    hub_environment: Environment, command: Command, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with mounted("-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", at=tmp_path / "ro"):
        environment = {**hub_environment, "DB_PATH": str(tmp_path / "ro" / "deep" / "skills.lancedb")}
        assert command(environment, "index").returncode == 1
        assert found(environment, "walruses") == ["one"]


# Damage


def fill_with_noise(file: Path) -> None:
    file.write_bytes(random.Random(5).randbytes(max(64, file.stat().st_size)))


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize(
    ("harm", "place"),
    [
        (fill_with_noise, "_versions/*.manifest"),
        (fill_with_noise, "data/*"),
        (truncate, "_indices/*/*"),
        (Path.unlink, "data/*"),
        (Path.unlink, "_indices/*/*"),
        (empty, "**/*"),
    ],
)
def test_a_damaged_table_still_gives_right_answers(
    hub_environment: Environment, write_skill: Writer, harm: Callable[[Path], None], place: str
) -> None:
    for name in ("one", "two"):
        write_skill(name, "About walruses.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    write_skill("two", "About bread.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    files = [file for file in (database(hub_environment) / "skills.lance").glob(place) if file.is_file()]
    assert files
    for file in files:
        harm(file)
    assert found(hub_environment, "walruses") == ["one"]
    write_skill("three", "About walruses.")
    assert found(hub_environment, "walruses") == ["one", "three"]
    assert published_rows(database(hub_environment)) == ["one", "three", "two"]


def test_a_file_in_place_of_the_table_is_replaced(hub_environment: Environment, write_skill: Writer) -> None:
    write_skill("one", "About walruses.")
    database(hub_environment).mkdir(parents=True)
    (database(hub_environment) / "skills.lance").write_text("", encoding="utf-8")
    assert found(hub_environment, "walruses") == ["one"]
    assert published_rows(database(hub_environment)) == ["one"]


def test_a_damaged_table_is_reported_in_one_line(
    hub_environment: Environment, command: Command, write_skill: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("one", "About walruses.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    for file in (database(hub_environment) / "skills.lance" / "_versions").glob("*.manifest"):
        fill_with_noise(file)
    done = command(hub_environment, "search", "walruses")
    assert done.returncode == 0
    assert "one" in done.stdout
    (line,) = [one for one in caplog.messages if hub_environment["DB_PATH"] in one]
    assert "\n" not in line
    caplog.clear()
    assert "one" in command(hub_environment, "search", "walruses").stdout
    assert caplog.messages == []


def test_the_state_of_another_database_leads_to_a_rebuild(
    hub_environment: Environment, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with hub_of(hub_environment) as hub:
        hub.refresh()
    for _ in range(3):
        with hub_of(hub_environment) as hub:
            hub.refresh(SyncDepth.REBUILD)
    # A younger database replaces it, with fewer versions.
    shutil.rmtree(database(hub_environment))
    Store(hub_environment["DB_PATH"], "skills").rebuild(lambda _: (), table_schema(None))
    assert found(hub_environment, "walruses") == ["one"]
    assert published_rows(database(hub_environment)) == ["one"]


# Full disks


def test_a_full_disk_is_named_and_answers_come_from_memory(
    hub_environment: Environment, command: Command, tmp_path: Path, write_skill: Writer
) -> None:
    for number in range(30):
        write_skill(f"skill-{number:02}", "About walruses.", body="long " * 20_000)
    with mounted("-t", "tmpfs", "-o", "size=200k", "tmpfs", at=tmp_path / "small"):
        environment = {**hub_environment, "DB_PATH": str(tmp_path / "small" / "skills.lancedb")}
        done = command(environment, "index")
        assert done.returncode == 1
        assert environment["DB_PATH"] in done.stderr
        assert "Traceback" not in done.stderr
        done = command(environment, "search", "walruses")
        assert done.returncode == 0
        assert "skill-" in done.stdout


def test_a_disk_that_fills_up_keeps_the_last_commit(
    hub_environment: Environment, command: Command, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with mounted("-t", "tmpfs", "-o", "size=600k", "tmpfs", at=tmp_path / "small"):
        environment = {**hub_environment, "DB_PATH": str(tmp_path / "small" / "skills.lancedb")}
        assert command(environment, "index").returncode == 0
        (tmp_path / "small" / "ballast").write_bytes(b"x" * 400_000)
        for number in range(20):
            write_skill(f"skill-{number:02}", "About walruses.", body=random.Random(number).randbytes(40_000).hex())
        for arguments in (("index",), ("--reindex",)):
            done = command(environment, *arguments)
            assert done.returncode == 1, done.stdout
            assert environment["DB_PATH"] in done.stderr
            done = command(environment, "search", "walruses", "--json", "--limit", "50")
            assert done.returncode == 0
            assert [one["name"] for one in json.loads(done.stdout)["skills"]] == ["one"]
            assert published_rows(environment["DB_PATH"]) == ["one"]
        (tmp_path / "small" / "ballast").unlink()
        shutil.rmtree(hub_environment["SKILLS_DIR"] + "/skill-00")
        for number in range(1, 20):
            write_skill(f"skill-{number:02}", "About walruses.")
        assert command(environment, "index").returncode == 0
        assert len(published_rows(environment["DB_PATH"])) == 20


def test_a_server_on_a_full_disk_serves_its_last_commit_and_recovers(
    hub_environment: Environment, tmp_path: Path, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    with mounted("-t", "tmpfs", "-o", "size=2m", "tmpfs", at=tmp_path / "small"):
        environment = {**hub_environment, "DB_PATH": str(tmp_path / "small" / "skills.lancedb")}
        with hub_of(environment, background=True) as hub:

            def facts(query: str) -> tuple[int, str]:
                hits = hub.search(query, limit=50).hits
                return len(hits), str(json.loads(bytes(readiness(hub).body))["index"])

            assert facts("walruses") == (1, "ready")
            ballast = tmp_path / "small" / "ballast"
            ballast.write_bytes(b"x" * 1_800_000)
            for number in range(20):
                write_skill(f"skill-{number:02}", "About walruses.", body=random.Random(number).randbytes(20_000).hex())
            # Some may have been written before the disk was full.
            eventually(lambda: facts("walruses")[1], "degraded")
            assert 1 <= facts("walruses")[0] < 21
            ballast.unlink()
            for number in range(20):
                write_skill(f"skill-{number:02}", "About penguins.")
            eventually(lambda: facts("penguins"), (20, "ready"))
        assert len(published_rows(environment["DB_PATH"])) == 21


def test_a_file_size_limit_acts_like_a_full_disk(
    hub_environment: Environment, command: Command, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    assert command(hub_environment, "index").returncode == 0
    before = state_of(hub_environment).read_bytes()
    for number in range(20):
        write_skill(f"skill-{number:02}", "About walruses.", body=random.Random(number).randbytes(20_000).hex())

    def limit() -> None:
        # Without the signal, writes beyond the limit fail as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    done = skillhub(hub_environment, "index", preexec=limit)
    assert done.returncode == 1, done.stdout
    assert hub_environment["DB_PATH"] in done.stderr
    assert state_of(hub_environment).read_bytes() == before
    assert command(hub_environment, "index").returncode == 0
    assert len(published_rows(database(hub_environment))) == 21


# Killed processes


def spawn(environment: Environment, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def written(environment: Environment) -> int:
    """The number of files in and beside the database, which grows with each step of a writer."""
    return sum(len(files) for _, _, files in os.walk(database(environment).parent))


def kill_after_files(environment: Environment, process: subprocess.Popen[bytes], files: int) -> bool:
    """Kill `process` after `files` more files; return whether it was still running."""
    enough = written(environment) + files
    deadline = time.monotonic() + LONG
    while process.poll() is None and written(environment) < enough:
        assert time.monotonic() < deadline
        # A busy loop would take the core that the writer needs.
        time.sleep(0.0005)
    process.kill()
    return process.wait() == -signal.SIGKILL


def check_after_kill(environment: Environment, expected: list[str]) -> None:
    assert found(environment, "walruses") == expected
    with hub_of(environment) as hub:
        hub.refresh()
    rows = published_rows(database(environment))
    assert len(rows) == len(set(rows))
    assert set(expected) <= set(rows)


@pytest.mark.parametrize("files", [3, 16])
def test_the_next_process_finishes_a_killed_first_build(
    hub_environment: Environment, write_skill: Writer, files: int
) -> None:
    for number in range(150):
        write_skill(f"filler-{number:03}", "About bread.")
    write_skill("one", "About walruses.")
    kill_after_files(hub_environment, spawn(hub_environment, "index"), files)
    check_after_kill(hub_environment, ["one"])
    assert len(published_rows(database(hub_environment))) == 151


@pytest.mark.parametrize("verb", ["index", "--reindex"])
def test_killed_writers_leave_readers_intact_and_the_next_index_right(
    hub_environment: Environment, command: Command, skills_dir: Path, write_skill: Writer, verb: str
) -> None:
    for number in range(100):
        write_skill(f"filler-{number:03}", "About bread.")
    write_skill("one", "About walruses.")
    assert command(hub_environment, "index").returncode == 0
    reader = Desk(database(hub_environment), skills_dir)
    reader.sync()
    killed = 0
    for round_, files in enumerate((1, 6)):
        write_skill(f"late-{round_}", "About walruses too.")
        write_skill(f"filler-{round_:03}", f"About bread of round {round_}.")
        killed += kill_after_files(hub_environment, spawn(hub_environment, verb), files)
        # The reader has not refreshed, so its version still exists.
        assert "one" in reader.find("walruses")
    assert killed
    assert reader.find("walruses")[-1:] == ["one"]
    check_after_kill(hub_environment, [*(f"late-{round_}" for round_ in range(2)), "one"])
    assert len(published_rows(database(hub_environment))) == 103
    reader.sync()
    assert reader.find("walruses") == [*(f"late-{round_}" for round_ in range(2)), "one"]


def test_a_search_during_another_process_lock_uses_the_last_commit(
    hub_environment: Environment, command: Command, write_skill: Writer
) -> None:
    write_skill("one", "About walruses.")
    assert command(hub_environment, "index").returncode == 0
    with FileLock(database(hub_environment).parent / LOCK_FILE):
        done = command(hub_environment, "search", "walruses")
    assert done.returncode == 0
    assert "one" in done.stdout
