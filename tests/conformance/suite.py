"""The official conformance suite: runs it against a server and reads its checks, one by one."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import installs

MODERN, LEGACY = "2026-07-28", "2025-11-25"
SKILLS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory")

_LONGEST_SECONDS = 120
_RESULTS = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one scenario found: how many checks passed, and the others by their ids, each with status and message."""

    passed: int
    others: Mapping[str, str]


def official_suite() -> Suite:
    """Return the suite that package.json pins, or skip the test if it is not available."""
    modules = installs.npm_packages(Path(__file__).with_name("package.json"))
    return Suite(installs.node(), modules / "@modelcontextprotocol" / "conformance")


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite in the folder of its package, and the node that runs it."""

    node: Path
    package: Path

    def required(self, url: str, revision: str) -> dict[str, Verdict]:
        """Run every scenario that `revision` requires or reports, and return what each found."""
        return self._run("--url", url, "--requirements", revision)

    def skills(self, url: str, scenario: str) -> Verdict:
        """Run one scenario of the Skills extension."""
        # It belongs to no revision, and would be left out without being asked for by force.
        return self._run("--url", url, "--scenario", scenario, "--spec-version", MODERN, "--force")[scenario]

    def scenarios(self) -> list[str]:
        """Return every scenario for servers that the suite knows."""
        return re.findall(r"^ +- (\S+) \[", self._call("list", "--server").stdout, re.MULTILINE)

    def _run(self, *arguments: str) -> dict[str, Verdict]:
        with tempfile.TemporaryDirectory() as directory:
            done = self._call("server", *arguments, "--output-dir", directory)
            found = dict(_verdicts(Path(directory)))
        assert found, f"the suite has left no results: {done.stdout}{done.stderr}"
        return found

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.node), str(self.package / "dist" / "index.js"), *arguments],
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=_LONGEST_SECONDS,
        )


def _verdicts(directory: Path) -> Iterator[tuple[str, Verdict]]:
    for path in directory.glob("*/checks.json"):
        named = _RESULTS.fullmatch(path.parent.name)
        assert named is not None, path.parent.name
        checks = json.loads(path.read_text(encoding="utf-8"))
        yield (
            named["scenario"],
            Verdict(
                sum(check["status"] == "SUCCESS" for check in checks),
                {
                    check["id"]: f"{check['status']}: {check.get('errorMessage') or check['description']}"
                    for check in checks
                    # What the suite merely notes is neither passed nor failed.
                    if check["status"] not in {"SUCCESS", "INFO"}
                },
            ),
        )
