"""The official suite: each scenario passes as many checks as the tables here say, in both protocol versions.

`hub` is the server as users start it; `fixtures` also has the components that the suite expects by name. `GAPS` has
each check that does not pass, with the reason. A gap that passes or is no longer checked fails, too.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import installs

pytestmark = pytest.mark.conformance

MODERN, LEGACY = "2026-07-28", "2025-11-25"
SKILLS = ("sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory")

_RESULTS = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")

# The scenarios that need no component of the suite's own, with the number of their checks.
HUB = {
    MODERN: {
        "server-stateless": 24,
        "tools-list": 4,
        "server-sse-multiple-streams": 1,
        "resources-list": 2,
        "sep-2164-resource-not-found": 4,
        "prompts-list": 2,
        "dns-rebinding-protection": 2,
        "caching": 8,
        "input-required-result-unsupported-methods": 2,
        "http-header-validation": 14,
    },
    LEGACY: {
        "server-initialize": 3,
        "logging-set-level": 2,
        "ping": 2,
        "tools-list": 3,
        "server-sse-multiple-streams": 2,
        "resources-list": 2,
        "prompts-list": 2,
        "dns-rebinding-protection": 2,
        "server-session-lifecycle": 3,
    },
}

_IN_BOTH = {
    **dict.fromkeys(("completion-complete", "tools-call-error", "tools-call-with-progress"), 2),
    **{f"tools-call-{kind}": 2 for kind in ("simple-text", "image", "audio", "embedded-resource", "mixed-content")},
    **{f"resources-{what}": 2 for what in ("read-text", "read-binary", "templates-read")},
    **{f"prompts-get-{kind}": 2 for kind in ("simple", "with-args", "embedded-resource", "with-image")},
    "json-schema-2020-12": 8,
}
_ASKING = {
    **dict.fromkeys(("basic-elicitation", "basic-sampling", "basic-list-roots", "request-state"), 3),
    **dict.fromkeys(("multiple-input-requests", "non-tool-request", "validate-input"), 3),
    **dict.fromkeys(("missing-input-response", "result-type", "tampered-state", "capability-check"), 2),
    "ignore-extra-params": 2,
    "multi-round": 4,
}
# All that the suite knows for each revision, except the extensions.
FIXTURES = {
    MODERN: {
        **HUB[MODERN],
        **_IN_BOTH,
        **{f"input-required-result-{scenario}": checks for scenario, checks in _ASKING.items()},
        "server-stateless": 28,
        "http-custom-header-server-validation": 10,
    },
    LEGACY: {
        **HUB[LEGACY],
        **_IN_BOTH,
        **{f"tools-call-{kind}": 2 for kind in ("with-logging", "sampling", "elicitation")},
        "elicitation-sep1034-defaults": 6,
        "elicitation-sep1330-enums": 6,
        "resources-subscribe": 2,
        "resources-unsubscribe": 2,
        "server-sse-polling": 0,
    },
}

EXTENSION = {
    "hub": {"sep-2640-skills-enumeration": 31, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7},
    "fixtures": {"sep-2640-skills-enumeration": 32, "sep-2640-skills-manifest": 6, "sep-2640-skills-directory": 7},
}

_NEEDS_TOOL = "only a tool of the suite's own can show it; see the same check on `fixtures`"
_NO_HOOK = (
    "the suite cannot change the lists of this server; tests/server/resources/test_list_changed.py shows the word"
)
_NO_RESUMPTION = "streams cannot be resumed: answers are short, and a client that lost one asks again"
_TWINS = (
    "two sources hold a skill of one name, and both are served: their URIs tell them apart; `fixtures` has one source"
)

# What does not pass, by server, revision and scenario: the check and the reason.
GAPS: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("hub", MODERN, "server-stateless"): {
        "sep-2575-server-rejects-undeclared-capability": _NEEDS_TOOL,
        "sep-2575-missing-capability-http-400": _NEEDS_TOOL,
        "sep-2575-http-server-no-independent-requests-on-stream": _NEEDS_TOOL,
        "sep-2575-server-no-log-without-loglevel": _NEEDS_TOOL,
        "sep-2575-server-sends-prompts-list-changed-on-subscription": _NO_HOOK,
        "sep-2575-server-sends-tools-list-changed-on-subscription": _NO_HOOK,
    },
    ("hub", MODERN, "sep-2640-skills-enumeration"): {"sep-2640-names-should-be-unique": _TWINS},
    ("fixtures", MODERN, "server-stateless"): {
        "sep-2575-server-sends-prompts-list-changed-on-subscription": _NO_HOOK,
        "sep-2575-server-sends-tools-list-changed-on-subscription": _NO_HOOK,
    },
    ("fixtures", LEGACY, "server-sse-polling"): {
        "server-sse-priming-event": _NO_RESUMPTION,
        "server-sse-retry-field": _NO_RESUMPTION,
    },
}

# The hub does not declare the extension io.modelcontextprotocol/tasks: none of its calls takes long enough for one.
_NOT_OURS = "tasks-"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a scenario: how many checks passed, and the status and message of the others by id."""

    passed: int
    others: Mapping[str, str]


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
            timeout=120,
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


Verdicts = Callable[[str, str], Mapping[str, Verdict]]


@pytest.fixture(scope="module")
def suite() -> Suite:
    """The suite that package.json pins; skips the test if it is not available."""
    modules = installs.npm_packages(Path(__file__).with_name("package.json"))
    return Suite(installs.node(), modules / "@modelcontextprotocol" / "conformance")


@pytest.fixture(scope="module")
def verdicts(suite: Suite, address: Callable[[str], str]) -> Verdicts:
    return functools.cache(lambda server, revision: suite.required(address(server), revision))


def compare(verdict: Verdict, passed: int, gaps: Mapping[str, str]) -> None:
    assert {check: words for check, words in verdict.others.items() if check not in gaps} == {}
    assert set(gaps) - set(verdict.others) == set(), "these gaps pass or are no longer checked"
    assert verdict.passed == passed


@pytest.mark.parametrize(
    ("server", "revision", "scenario", "passed"),
    [
        (server, revision, scenario, passed)
        for server, table in (("hub", HUB), ("fixtures", FIXTURES))
        for revision, scores in table.items()
        for scenario, passed in scores.items()
    ],
)
def test_a_scenario_passes(verdicts: Verdicts, server: str, revision: str, scenario: str, passed: int) -> None:
    compare(verdicts(server, revision)[scenario], passed, GAPS.get((server, revision, scenario), {}))


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
def test_every_scenario_of_a_revision_is_listed(verdicts: Verdicts, revision: str) -> None:
    run = {scenario for scenario in verdicts("fixtures", revision) if not scenario.startswith(_NOT_OURS)}
    assert run == set(FIXTURES[revision])


def test_every_scenario_of_the_suite_is_run(suite: Suite) -> None:
    known = {scenario for scenario in suite.scenarios() if not scenario.startswith(_NOT_OURS)}
    assert known == {*FIXTURES[MODERN], *FIXTURES[LEGACY], *SKILLS}


@pytest.mark.parametrize("scenario", SKILLS)
@pytest.mark.parametrize("server", EXTENSION)
def test_the_skills_extension_passes(suite: Suite, address: Callable[[str], str], server: str, scenario: str) -> None:
    verdict = suite.skills(address(server), scenario)
    compare(verdict, EXTENSION[server][scenario], GAPS.get((server, MODERN, scenario), {}))
