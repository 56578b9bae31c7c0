"""Search, load, read and fail with other client libraries, each in its own environment."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests import installs
from tests.clients.test_journeys import SEEN
from tests.conformance.library import COUNT, write_library
from tests.server.sessions import COMMAND, http_server

pytestmark = pytest.mark.conformance

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "frameworks"

TRANSPORTS = pytest.mark.parametrize("transport", ["http", "stdio"])
# The lowest Python of clients that need a newer one than the hub.
PYTHONS = {"pydantic_ai": (3, 11), "fastmcp": (3, 11)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a server with the conformance skills and the one that a journey finds."""
    environment = write_library(tmp_path_factory.mktemp("library"))
    reader = Path(environment["SKILLS_DIR"]) / "pdf-reader"
    (reader / "references").mkdir(parents=True)
    (reader / "SKILL.md").write_text(SEEN["resource"][0], encoding="utf-8")
    (reader / "references" / "a.md").write_text("A.", encoding="utf-8")
    return environment


@pytest.fixture(scope="module")
def url(library: Mapping[str, str]) -> Iterator[str]:
    with http_server({**library, "DB_PATH": library["DB_PATH"] + "http"}) as served:
        yield f"{served}/mcp"


@pytest.fixture
def arguments(request: pytest.FixtureRequest, transport: str, library: Mapping[str, str]) -> Sequence[str]:
    """The arguments of a journey: the server's URL, or how to start one."""
    if transport == "http":
        return ("http", request.getfixturevalue("url"))
    return ("stdio", COMMAND[0], json.dumps(dict(library)))


def journey(*command: str) -> Any:
    # The frameworks' journeys import their examples.
    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(EXAMPLES), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def python_journey(client: str, arguments: Sequence[str]) -> Any:
    python = installs.python_with(HERE / "requirements" / f"{client}.txt", at_least=PYTHONS.get(client, (3, 10)))
    return journey(str(python), str(HERE / "journeys" / f"with_{client}.py"), *arguments)


@TRANSPORTS
@pytest.mark.parametrize(
    ("client", "protocol"),
    [
        ("sdk1", "2025-11-25"),
        ("langchain", "2025-11-25"),
        ("openai_agents", "2026-07-28"),
        ("pydantic_ai", "2026-07-28"),
    ],
)
def test_a_client_in_python_completes_the_journey(client: str, protocol: str, arguments: Sequence[str]) -> None:
    assert python_journey(client, arguments) == {**SEEN, "protocol": protocol}


@TRANSPORTS
@pytest.mark.parametrize(
    ("client", "mode", "protocol"),
    [("sdk1", "legacy", None), ("client2", "legacy", "2025-11-25"), ("client2", "auto", "2026-07-28")],
)
def test_a_client_in_typescript_completes_the_journey(
    client: str, mode: str, protocol: str | None, arguments: Sequence[str]
) -> None:
    modules = installs.npm_packages(HERE / "package.json")
    script = HERE / "journeys" / f"with_{client}.mjs"
    seen = journey(str(installs.node()), str(script), str(modules), mode, *arguments)
    assert seen == {**SEEN, "protocol": protocol}


@TRANSPORTS
def test_a_host_that_reads_skills_natively_reads_every_file_of_every_skill(arguments: Sequence[str]) -> None:
    seen = python_journey("fastmcp", arguments)
    assert seen["protocol"] == "2026-07-28"
    assert len(seen["skills"]) == COUNT + 1
    assert seen["skills"]["skill://hub/pdf-reader/SKILL.md"] == ["SKILL.md", "references/a.md"]
