"""`npx skills`, the other program that installs skills and writes skills-lock.json: one command a run."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import installs

_LONGEST_SECONDS = 120


@dataclass(frozen=True, slots=True)
class NpxSkills:
    """The program in a project, with its own home directory and without telemetry."""

    project: Path
    home: Path

    def run(self, *arguments: str) -> str:
        """Run a command that succeeds and return its output. Skips the test if the program cannot be installed."""
        modules = installs.npm_packages(Path(__file__).with_name("package.json"))
        node = installs.node()
        done = subprocess.run(
            [str(node), str(modules / "skills" / "bin" / "cli.mjs"), *arguments],
            cwd=self.project,
            env={
                "HOME": str(self.home),
                # It starts itself again for an update.
                "PATH": os.pathsep.join((str(node.parent), os.environ["PATH"])),
                "DO_NOT_TRACK": "1",
                "DISABLE_TELEMETRY": "1",
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=_LONGEST_SECONDS,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    @property
    def lock_path(self) -> Path:
        """The project's lock."""
        return self.project / "skills-lock.json"

    @property
    def locked(self) -> dict[str, Any]:
        """The entries of the project's lock, by name."""
        lock = json.loads(self.lock_path.read_text(encoding="utf-8"))
        assert lock["version"] == 1
        entries: dict[str, Any] = lock["skills"]
        return entries

    def installed(self, name: str) -> dict[str, bytes]:
        """The files of an installed skill, by path."""
        directory = self.project / ".agents" / "skills" / name
        return {
            path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
        }
