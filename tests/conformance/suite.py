"""The official conformance suite: run against a server, with the result of each check."""

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
    """The result of a scenario: how many checks passed, and the status and message of the others by id."""

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
        """Run every scenario that `revision` requires or reports, and return the results."""
        return self._run("--url", url, "--requirements", revision)

    def skills(self, url: str, scenario: str) -> Verdict:
        """Run one scenario of the Skills extension."""
        # It belongs to no revision, and is skipped unless forced.
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
                    # Notes of the suite neither pass nor fail.
                    if check["status"] not in {"SUCCESS", "INFO"}
                },
            ),
        )
