"""The sandbox, tried with real processes: a command of a skill reaches nothing that is not its own."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.execution.conftest import PLENTY_OF_SECONDS, sandbox_here, wait_until

from skillhub_mcp.errors import SandboxUnavailable
from skillhub_mcp.execution.runner import CommandResult, RunLimits, reduced_environment, run_command
from skillhub_mcp.execution.sandbox import OFF, Confinement, Sandbox, find_sandbox

PYTHON = os.path.realpath(sys.executable)
LIMITS = RunLimits(timeout_seconds=30.0, max_output_bytes=65_536)


@pytest.fixture
def sandbox() -> Sandbox:
    return sandbox_here()


class Runs:
    """Runs sources of Python in the directory of a skill, confined."""

    def __init__(self, sandbox: Sandbox, skill: Path) -> None:
        self.sandbox, self.skill = sandbox, skill

    def __call__(
        self,
        source: str,
        *args: object,
        limits: RunLimits = LIMITS,
        stop: threading.Event | None = None,
        confinement: Confinement | None = None,
    ) -> CommandResult:
        return run_command(
            (PYTHON, "-I", "-S", "-c", source, *map(str, args)),
            cwd=self.skill,
            limits=limits,
            environment=reduced_environment(os.environ),
            stop=stop,
            sandbox=self.sandbox,
            confinement=confinement,
        )

    def value_of(self, source: str, *args: object, **options: Any) -> Any:
        """Run a source that sets `seen`, and return its value."""
        result = self(f"import json, os, sys\n{source}\nprint(json.dumps(seen))", *args, **options)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    def try_each(self, attempts: dict[str, str], *args: object, **options: Any) -> dict[str, str]:
        """Run expressions, each for itself, and return for each its value as text or the name of its error."""
        source = (
            "import ctypes, shutil, socket, subprocess, time\n"
            f"seen = {{}}\nfor name, text in {attempts!r}.items():\n"
            "    try:\n        seen[name] = repr(eval(text))\n"
            "    except Exception as error:\n        seen[name] = type(error).__name__\n"
        )
        answer: dict[str, str] = self.value_of(source, *args, **options)
        return answer


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    directory = tmp_path / "skills" / "one"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("the skill's own", encoding="utf-8")
    return directory


@pytest.fixture
def run(sandbox: Sandbox, skill: Path) -> Runs:
    return Runs(sandbox, skill)


REFUSED = {"PermissionError", "FileNotFoundError", "OSError", "ConnectionRefusedError", "ProcessLookupError"}


def test_a_command_reads_its_skill_and_returns_its_exit_code(run: Runs) -> None:
    result = run(
        "import os, sys; print(open('SKILL.md').read(), sys.argv[1], os.getcwd()); print('err', file=sys.stderr)\n"
        "sys.exit(3)",
        "an argument; $HOME",
    )
    assert result.stdout == f"the skill's own an argument; $HOME {run.skill}\n"
    assert (result.stderr, result.exit_code, result.timeout) == ("err\n", 3, False)
    ended = run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert (ended.exit_code, ended.timeout) == (128 + signal.SIGTERM, False)


def test_files_of_other_skills_the_home_and_the_system_cannot_be_read(run: Runs, tmp_path: Path) -> None:
    other = run.skill.parent / "other"
    other.mkdir()
    (other / "SKILL.md").write_text("secret", encoding="utf-8")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "id_rsa").write_text("secret", encoding="utf-8")
    (run.skill / "link").symlink_to(tmp_path / "home" / "id_rsa")
    (run.skill / "folder").symlink_to(other)
    seen = run.try_each(
        {
            "beside": "open('../other/SKILL.md').read()",
            "absolute": f"open({str(other / 'SKILL.md')!r}).read()",
            "home": f"open({str(tmp_path / 'home' / 'id_rsa')!r}).read()",
            "through a link": "open('link').read()",
            "through a folder": "open('folder/SKILL.md').read()",
            "shadow": "open('/etc/shadow').read()",
            "server's directory": f"open({__file__!r}).read()",
            "the root's list": f"'other' in os.listdir({str(run.skill.parent)!r})",
        }
    )
    assert seen.pop("the root's list") in {"False", *REFUSED}
    assert set(seen.values()) <= REFUSED, seen


def test_hidden_paths_inside_readable_ones_stay_hidden_by_every_path(run: Runs, tmp_path: Path) -> None:
    library = tmp_path / "library"
    kept = library / "hub" / "index"
    kept.mkdir(parents=True)
    (library / "public.txt").write_text("public", encoding="utf-8")
    (library / "hub" / "readme.txt").write_text("public too", encoding="utf-8")
    (kept / "table").write_text("secret", encoding="utf-8")
    (library / "token").write_text("secret", encoding="utf-8")
    (kept / "skill").mkdir()
    (kept / "skill" / "file").write_text("permitted", encoding="utf-8")
    alias = tmp_path / "alias"
    alias.symlink_to(library)
    confinement = Confinement(
        readable=(str(run.skill), str(alias), str(kept / "skill")), hidden=(str(kept), str(library / "token"))
    )
    attempts: dict[str, str] = {}
    for name, base in (("real", library), ("alias", alias)):
        attempts |= {
            f"{name} public": f"open({str(base / 'public.txt')!r}).read()",
            f"{name} public too": f"open({str(base / 'hub' / 'readme.txt')!r}).read()",
            f"{name} permitted": f"open({str(base / 'hub' / 'index' / 'skill' / 'file')!r}).read()",
            f"{name} table": f"open({str(base / 'hub' / 'index' / 'table')!r}).read()",
            f"{name} token": f"open({str(base / 'token')!r}).read()",
        }
    seen = run.try_each(attempts, confinement=confinement)
    real = {name: value for name, value in seen.items() if name.startswith("real")}
    assert real.pop("real table") in REFUSED
    assert real.pop("real token") in {"''", *REFUSED}
    assert real == {"real public": "'public'", "real public too": "'public too'", "real permitted": "'permitted'"}
    assert seen["alias public"] == "'public'"
    assert "secret" not in json.dumps(seen)


def test_a_linked_skill_is_visible_by_both_paths(sandbox: Sandbox, skill: Path) -> None:
    link = skill.parents[1] / "linked"
    link.symlink_to(skill.parent)
    run = Runs(sandbox, link / "one")
    seen = run.value_of(f"seen = [open(p + '/SKILL.md').read() for p in ({str(skill)!r}, {str(link / 'one')!r}, '.')]")
    assert seen == ["the skill's own"] * 3


def test_a_skill_cannot_be_changed(run: Runs) -> None:
    file = run.skill / "SKILL.md"
    before = file.stat()
    run.try_each(
        {
            "write": "open('SKILL.md', 'a').write('x')",
            "create": "open('new', 'w')",
            "folder": "os.mkdir('folder')",
            "remove": "os.remove('SKILL.md')",
            "rename": "os.rename('SKILL.md', 'other')",
            "link": "os.link('SKILL.md', 'hard')",
            "link out": "os.link('SKILL.md', os.environ['TMPDIR'] + '/hard')",
            "symbolic link": "os.symlink('SKILL.md', 'soft')",
            "truncate": "os.truncate('SKILL.md', 0)",
            "truncate while opening": "os.open('SKILL.md', os.O_RDONLY | os.O_TRUNC)",
            "mode": "os.chmod('SKILL.md', 0o777)",
            "mode by descriptor": "os.fchmod(os.open('SKILL.md', os.O_RDONLY), 0o777)",
            "owner": "os.chown('SKILL.md', os.getuid(), os.getgid())",
            "times": "os.utime('SKILL.md', (1, 1))",
            "attribute": "os.setxattr('SKILL.md', 'user.x', b'y')",
            "the directory's mode": "os.chmod('.', 0o777)",
        }
    )
    after = file.stat()
    assert sorted(path.name for path in run.skill.iterdir()) == ["SKILL.md"]
    assert file.read_text(encoding="utf-8") == "the skill's own"
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, 1)
    assert os.listxattr(file) == []


def test_nothing_outside_the_sandbox_can_be_changed(run: Runs, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine", encoding="utf-8")
    mine.chmod(0o640)
    before = mine.stat()
    # A skill in the machine's temporary directory appears in a private one, where writing succeeds without effect.
    run.try_each(
        {
            "write": f"open({str(mine)!r}, 'w')",
            "create": f"open({str(tmp_path / 'new')!r}, 'w').close()",
            "mode": f"os.chmod({str(mine)!r}, 0o777)",
            "times": f"os.utime({str(mine)!r}, (1, 1))",
        }
    )
    seen = run.try_each(
        {
            "system": "open('/usr/new', 'w')",
            "settings of the kernel": "open('/proc/sys/kernel/core_pattern', 'w')",
            "root": "open('/new', 'w')",
        }
    )
    assert set(seen.values()) <= REFUSED, seen
    after = mine.stat()
    assert mine.read_text(encoding="utf-8") == "mine"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert not (tmp_path / "new").exists()


def test_each_run_has_its_own_home_and_temporary_directory(run: Runs) -> None:
    source = (
        "import tempfile\n"
        "home, temporary = os.path.expanduser('~'), tempfile.gettempdir()\n"
        "before = os.listdir(home) + [name for name in os.listdir(temporary) if name == 'left']\n"
        "open(os.path.join(home, 'left'), 'w').close(); open(os.path.join(temporary, 'left'), 'w').close()\n"
        "seen = [before, home, temporary, tempfile.mkdtemp()]"
    )
    for _ in range(2):
        before, home, temporary, made = run.value_of(source)
        assert before == []
        assert home != os.path.expanduser("~")
        assert not Path(made).exists()
        assert not Path(home, "left").exists()
        assert not Path(temporary, "left").exists()


def test_only_the_output_directory_is_writable(run: Runs, tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    confinement = Confinement(readable=(str(run.skill),), writable=(str(output),))
    seen = run.try_each(
        {
            "file": f"open({str(output / 'result.txt')!r}, 'w').write('done')",
            "beside": f"open({str(tmp_path / 'result.txt')!r}, 'w').write('done')",
            "skill": "open('result.txt', 'w').write('done')",
        },
        confinement=confinement,
    )
    assert seen["file"] == "4"
    assert (output / "result.txt").read_text(encoding="utf-8") == "done"
    assert seen["skill"] in REFUSED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output", "skills"]
    # Another command of the session, which may write there too, exchanges the directory while this one begins.
    descriptor = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
    elsewhere = output.rename(tmp_path / "elsewhere")
    output.symlink_to(elsewhere.parent)
    opened = Confinement(readable=(str(run.skill),), opened={str(output): descriptor})
    run(f"open({str(output / 'again.txt')!r}, 'w').write('done')", confinement=opened)
    os.close(descriptor)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["again.txt", "result.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "output", "skills"]
    assert sorted(path.name for path in run.skill.iterdir()) == ["SKILL.md"]


def test_other_processes_cannot_be_seen_or_reached(run: Runs) -> None:
    server = os.getpid()
    libc = ctypes.CDLL(None)
    own, remove = 0, 0
    shared = libc.shmget(own, 4096, 0o600)
    assert shared >= 0
    seen = run.try_each(
        {
            "environment": f"open('/proc/{server}/environ').read()",
            "memory": f"open('/proc/{server}/mem', 'rb')",
            "descriptors": f"os.listdir('/proc/{server}/fd')",
            "command lines": "[open(f'/proc/{n}/cmdline').read() for n in range(1, 400_000) if n != os.getpid() and "
            f"n == {server}]",
            "signal": f"os.kill({server}, 0)",
            "everybody": "os.kill(-1, 0)",
            "parent": "os.kill(os.getppid(), 9)",
            "limits": f"__import__('resource').prlimit({server}, 7, (3, 3))",
            "priority": f"os.setpriority(os.PRIO_PROCESS, {server}, 19)",
            "processor": f"os.sched_setaffinity({server}, [0])",
            "shared memory": f"ctypes.CDLL(None).shmat({shared}, None, 0)",
            "its end": f"ctypes.CDLL(None).shmctl({shared}, {remove}, None)",
        }
    )
    assert libc.shmctl(shared, remove, None) == 0, "it was removed"
    assert (seen.pop("shared memory"), seen.pop("its end")) == ("-1", "-1")
    # With processes of its own, only its own are there to be seen: one of them may have the server's number.
    assert seen.pop("command lines") in {"[]", *REFUSED}
    # The parent is the sandbox's own first process.
    for name in ("parent", "everybody"):
        assert seen.pop(name) in {"None", *REFUSED}
    assert set(seen.values()) <= REFUSED, seen


def test_a_command_has_no_capabilities_and_gets_none(run: Runs) -> None:
    seen = run.value_of(
        "import ctypes\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "seen = [status[name].strip() for name in ('CapEff', 'CapPrm', 'NoNewPrivs')]\n"
        "seen.append(ctypes.CDLL(None).unshare(0x10000000))"
    )
    assert seen == ["0000000000000000", "0000000000000000", "1", -1]


def test_sockets_of_the_machine_cannot_be_reached(run: Runs, tmp_path: Path) -> None:
    listening = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    listening[1].bind(("127.0.0.1", 0))
    abstract = f"\0skillhub-test-{os.getpid()}"
    for address in (abstract, str(tmp_path / "socket")):
        one = socket.socket(socket.AF_UNIX)
        one.bind(address)
        one.listen()
        listening.append(one)
    letters = str(tmp_path / "letters")
    listening.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    listening[-1].bind(letters)
    tcp, udp = (one.getsockname()[1] for one in listening[:2])
    try:
        seen = run.try_each(
            {
                "tcp": f"socket.create_connection(('127.0.0.1', {tcp}), 2)",
                "udp": f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp}))",
                "abstract": f"socket.socket(socket.AF_UNIX).connect({abstract!r})",
                "by path": f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'socket')!r})",
                "a pair turned to it": f"socket.socketpair(1, socket.SOCK_DGRAM)[0].sendto(b'x', {letters!r})",
                "elsewhere": "socket.create_connection(('192.0.2.1', 80), 2)",
                "name": "socket.getaddrinfo('example.com', 80)",
            }
        )
        reached = select.select(listening, [], [], 0)[0]
    finally:
        for one in listening:
            one.close()
    assert reached == []
    seen.pop("udp")  # it may be sent in the sandbox's own network
    assert set(seen.values()) <= {*REFUSED, "gaierror"}, seen


def test_a_granted_network_is_that_of_the_machine(run: Runs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = run.try_each(
            {"tcp": f"socket.create_connection(('127.0.0.1', {port}), 5).close()"},
            confinement=Confinement(readable=(str(run.skill),), network=True),
        )
        assert seen == {"tcp": "None"}
        assert select.select([server], [], [], 0)[0] == [server]


# Each writes its number where the test sees it, in the output directory, and lives on.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(1), os.close(2)
        os.execve(sys.executable, [sys.executable, '-I', '-S', '-c', sys.argv[1], sys.argv[2]], {})
    os._exit(0)
os.wait()
"""
# Holds a lock as long as it lives, because in a namespace of its own its number says nothing.
HOLD = (
    "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); f.write('held'); f.flush(); time.sleep(60)"
)
UNTIL_HELD = "while not os.path.exists(sys.argv[2]) or not os.path.getsize(sys.argv[2]): time.sleep(0.01)\n"


class Held:
    """A file that a process in the sandbox locks. `assert_ended` waits until it is unlocked."""

    def __init__(self, directory: Path, run: Runs) -> None:
        directory.mkdir()
        self.path = directory / "held"
        self.confinement = Confinement(readable=(str(run.skill),), writable=(str(directory),))

    def wait_until_held(self) -> None:
        wait_until(lambda: self.path.exists() and self.path.read_text(encoding="utf-8"), "nothing was started")

    def _is_free(self) -> bool:
        with self.path.open() as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def assert_ended(self) -> None:
        wait_until(self._is_free, "a process of the command is still running")


@pytest.fixture
def held(tmp_path: Path, run: Runs) -> Held:
    return Held(tmp_path / "held", run)


def test_a_daemon_ends_with_its_command(run: Runs, held: Held) -> None:
    begun = time.monotonic()
    result = run(DAEMON + UNTIL_HELD, HOLD, held.path, confinement=held.confinement)
    assert (result.exit_code, result.timeout) == (0, False)
    assert time.monotonic() - begun < PLENTY_OF_SECONDS
    held.assert_ended()


def test_a_cancelled_command_ends_with_its_daemon_while_another_runs_on(run: Runs, held: Held, tmp_path: Path) -> None:
    stop = threading.Event()
    other = Held(tmp_path / "other", run)
    waiting = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\nprint('went')"
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(run, DAEMON + "time.sleep(60)", HOLD, held.path, confinement=held.confinement, stop=stop)
        beside = pool.submit(run, waiting, other.path, confinement=other.confinement)
        held.wait_until_held()
        stop.set()
        result = running.result(PLENTY_OF_SECONDS)
        other.path.touch()
        assert beside.result(PLENTY_OF_SECONDS).stdout == "went\n"
    assert (result.exit_code, result.timeout) == (-signal.SIGKILL, False)
    held.assert_ended()


SERVER = """
import sys, threading
from pathlib import Path
from tests.execution.conftest import sandbox_here
from tests.execution.test_sandbox import DAEMON, HOLD, Runs, Confinement
run = Runs(sandbox_here(), Path(sys.argv[1]))
held = sys.argv[2]
confinement = Confinement(readable=(sys.argv[1],), writable=(str(Path(held).parent),))
threading.Thread(target=run, args=(DAEMON + "time.sleep(60)", HOLD, held), kwargs={"confinement": confinement}).start()
"""


@pytest.mark.slow
def test_no_process_outlives_a_killed_server(run: Runs, held: Held) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(run.skill), str(held.path)],
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    try:
        held.wait_until_held()
    finally:
        server.kill()
        server.wait()
    held.assert_ended()


@pytest.mark.slow
def test_a_fork_bomb_ends_with_its_time_limit(run: Runs, held: Held) -> None:
    bomb = (
        "import fcntl, os, sys, time\n"
        "f = open(sys.argv[1], 'w'); fcntl.flock(f, 2)\n"
        "made = 0\n"
        "try:\n"
        "    while made < 2000:\n"
        "        if os.fork() == 0:\n            time.sleep(60)\n            os._exit(0)\n"
        "        made += 1\n"
        "except OSError:\n    pass\n"
        "os.write(1, b'%d\\n' % made)\n"
        "time.sleep(60)"
    )
    result = run(bomb, held.path, confinement=held.confinement, limits=replace(LIMITS, timeout_seconds=2.0))
    assert (result.exit_code, result.timeout) == (-signal.SIGKILL, True)
    if os.getuid() != 0:  # the kernel does not count root's processes
        assert int(result.stdout) < 128
    held.assert_ended()


def test_memory_descriptors_and_file_sizes_are_limited(run: Runs) -> None:
    seen = run.try_each(
        {
            "memory": "len(bytearray(3 << 30))",
            "file": "os.truncate(os.open(os.environ['TMPDIR'] + '/big', os.O_RDWR | os.O_CREAT), 300 << 20)",
            "descriptors": "[open('/dev/null') for _ in range(2000)] and 'many'",
            "core": "__import__('resource').getrlimit(4)",
            "processor time": "__import__('resource').getrlimit(0)",
            "more": "__import__('resource').setrlimit(7, (4096, 4096))",
        }
    )
    assert seen == {
        "memory": "MemoryError",
        "file": "OSError",
        "descriptors": "OSError",
        "core": "(0, 0)",
        "processor time": "(300, 300)",
        "more": "ValueError",
    }


def test_the_environment_holds_no_secrets_and_its_own_home(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere/of/mine")
    seen = run.value_of("seen = dict(os.environ)")
    assert "secret" not in json.dumps(seen)
    assert "/somewhere/of/mine" not in json.dumps(seen)
    assert {"PATH", "HOME", "TMPDIR"} <= seen.keys()
    assert seen["UV_OFFLINE"] == "1"


def test_no_file_descriptor_is_inherited_or_leaked(run: Runs) -> None:
    with open(__file__, encoding="utf-8") as held_open:
        os.set_inheritable(held_open.fileno(), True)
        before = sorted(os.listdir("/proc/self/fd"))
        seen = run.value_of(
            "seen = []\n"
            "for number in range(3, 64):\n"
            "    try:\n        os.fstat(number)\n        seen.append(number)\n"
            "    except OSError:\n        pass"
        )
        assert sorted(os.listdir("/proc/self/fd")) == before
    assert seen == []


@pytest.mark.slow
def test_ordinary_programs_work(run: Runs) -> None:
    import shutil

    (run.skill / "data.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    expected = {"cat": "a,b\n1,2\n", "ls": "SKILL.md\ndata.csv\n", "grep": "1,2\n", "python3": "2\n", "node": "2\n"}
    arguments = {
        "cat": ("data.csv",),
        "ls": (),
        "grep": ("1", "data.csv"),
        "python3": ("-c", "import ssl, sqlite3, zlib; print(1 + 1)"),
        "node": ("-e", "console.log(1 + 1)"),
    }
    environment = reduced_environment(os.environ)
    outputs = {}
    for name, args in arguments.items():
        program = shutil.which(name)
        if program is None:
            expected.pop(name)
            continue
        result = run_command(
            (program, *args), cwd=run.skill, limits=LIMITS, environment=environment, sandbox=run.sandbox
        )
        outputs[name] = result.stdout or result.stderr
    assert outputs == expected


def test_without_a_sandbox_a_command_has_the_rights_of_the_server(skill: Path) -> None:
    result = Runs(OFF, skill)("import os; open('made', 'w').close(); print(os.path.expanduser('~'))")
    assert (result.stdout, result.exit_code) == (f"{os.path.expanduser('~')}\n", 0)
    assert (skill / "made").exists()


@pytest.mark.parametrize(
    ("platform", "bwrap", "reason", "hint"),
    [
        ("darwin", "", "bubblewrap needs Linux, and this is darwin", "SKILLHUB_SANDBOX=off"),
        ("linux", "", "bwrap is not installed", "install the package bubblewrap"),
        ("linux", '#!/bin/sh\necho "bwrap: No permissions" >&2\nexit 1\n', "bwrap: No permissions", ""),
    ],
    ids=["system", "missing", "failing"],
)
def test_an_unavailable_bubblewrap_is_reported_with_the_reason(
    platform: str, bwrap: str, reason: str, hint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find_sandbox.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.defpath", str(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    if bwrap:
        (tmp_path / "bwrap").write_text(bwrap, encoding="utf-8")
        (tmp_path / "bwrap").chmod(0o755)
    with pytest.raises(SandboxUnavailable) as refused:
        find_sandbox("bubblewrap")
    assert refused.value.reason == reason
    assert hint in (refused.value.hint or "")
