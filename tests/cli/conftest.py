"""Two ways to run a command: in this process, and as a process of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp.cli.main import run

SKILLHUB = (sys.executable, "-m", "skillhub_mcp")


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that it printed as JSON."""
        return json.loads(self.err)["error"]

    @property
    def refused(self) -> Any:
        """The errors of the skills that it did not install, by name."""
        return {one["name"]: one["error"] for one in self.json["refused"]}

    @property
    def standings(self) -> dict[str, str]:
        """How each skill that `update --check` compared stands to its source."""
        return {one["name"]: one["standing"] for one in self.json["skills"]}


class Terminal(io.StringIO):
    """A person who types what is in it."""

    def isatty(self) -> bool:
        return True


class Skillhub(Protocol):
    """Runs a command line over the test's own skills; keywords are environment variables."""

    def __call__(self, *arguments: str | Path, **environment: str) -> Done: ...


@pytest.fixture
def skillhub(
    hub_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Skillhub:
    """Run a command in this process: the quick way, for all that does not depend on being a process."""

    def go(*arguments: str | Path, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            chosen = {name: hub_environment[name] for name in ("SKILLS_DIR", "DB_PATH", "EMBEDDING_PROVIDER")}
            for name, value in {**chosen, **environment}.items():
                patch.setenv(name, value)
            handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            code = run([os.fspath(argument) for argument in arguments])
            # A command that serves over stdio keeps its handlers: its process can only exit afterwards.
            for number, handler in handlers.items():
                signal.signal(number, handler)
        captured = capsysbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return go


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory, a home and a place for temporary files of the test's own: `here`, `home` and `tmp`."""
    for name in ("home", "tmp", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def process(hub_environment: dict[str, str]) -> Skillhub:
    """Run a command as a person's shell would."""
    return _as_a_process(hub_environment)


@pytest.fixture
def no_larger_files(hub_environment: dict[str, str]) -> Callable[[int], Skillhub]:
    """Run a command that can write no file of more bytes than are given; root, whom no mode stops, cannot either."""
    resource = pytest.importorskip("resource", reason="this system has no such limits")

    def limited(most: int) -> Skillhub:
        def limit() -> None:
            # Without the signal, writing beyond the limit fails as on a full disk.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        # Python would write a part of what it compiles, which no later process could import.
        return _as_a_process({**hub_environment, "PYTHONDONTWRITEBYTECODE": "1"}, limit)

    return limited


def _as_a_process(started_in: dict[str, str], first: Callable[[], None] | None = None) -> Skillhub:
    def go(*arguments: str | Path, **environment: str) -> Done:
        done = subprocess.run(
            [*SKILLHUB, *arguments],
            env={**started_in, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
            preexec_fn=first,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return go


@pytest.fixture
def project(project: Path, write_skill: SkillWriter) -> Path:
    """Return a project with one skill, `repo-review`, in `.agents/skills`."""
    write_skill("repo-review", "Review PRs.", root=project / ".agents" / "skills")
    return project
