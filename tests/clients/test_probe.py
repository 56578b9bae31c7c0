"""Starting a connection as its client would."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skillhub_mcp.clients.machine import Machine, System
from skillhub_mcp.clients.model import HttpServer, StdioServer
from skillhub_mcp.clients.probe import environment_of, probe

pytestmark = pytest.mark.slow


def test_a_probed_server_names_itself_and_its_tools(hub_environment: dict[str, str], tmp_path: Path) -> None:
    variables = {name: hub_environment[name] for name in ("SKILLS_DIR", "DB_PATH", "EMBEDDING_PROVIDER")}
    server = StdioServer(sys.executable, ("-m", "skillhub_mcp"), variables, ("PYTHONPATH",))
    probed = probe(server, environment=hub_environment, cwd=str(tmp_path))
    assert probed.answers, probed.failure
    assert "search_skills" in probed.tools
    assert probed.version


@pytest.mark.parametrize(
    ("command", "reason"),
    [("/no/such/skillhub-mcp", "does not exist"), ("no-such-skillhub-mcp", "is not on its PATH")],
)
def test_a_missing_command_is_reported(command: str, reason: str, tmp_path: Path) -> None:
    probed = probe(StdioServer(command), environment={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path))
    assert not probed.answers
    assert reason in probed.failure


def test_a_command_that_cannot_be_executed_is_reported(tmp_path: Path) -> None:
    (tmp_path / "skillhub-mcp").write_text("no program")
    probed = probe(StdioServer(str(tmp_path / "skillhub-mcp")), environment={"PATH": ""}, cwd=str(tmp_path))
    assert "cannot be executed" in probed.failure


def test_the_last_line_of_a_failed_server_is_reported(tmp_path: Path) -> None:
    program = tmp_path / "skillhub-mcp"
    program.write_text("#!/bin/sh\necho 'SKILLS_DIR is broken' >&2\nexit 2\n")
    program.chmod(0o755)
    probed = probe(StdioServer(str(program)), environment={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path))
    assert probed.failure.endswith("its last line: SKILLS_DIR is broken")


def test_a_silent_server_times_out(tmp_path: Path) -> None:
    program = tmp_path / "skillhub-mcp"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    probed = probe(StdioServer(str(program)), environment={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path), seconds=0.2)
    assert "within 0.2 seconds" in probed.failure


def test_an_address_without_a_listener_is_reported(tmp_path: Path) -> None:
    probed = probe(HttpServer("http://127.0.0.1:9/mcp"), environment={}, cwd=str(tmp_path), seconds=10)
    assert probed.failure == "nothing answers at http://127.0.0.1:9/mcp; is a server running there?"


@pytest.fixture
def refusing() -> Iterator[Callable[[int], str]]:
    """A server that answers every request with the given status."""

    class Refusal(BaseHTTPRequestHandler):
        status = 500

        def do_POST(self) -> None:
            self.send_response(self.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    def answer(status: int) -> str:
        Refusal.status = status
        return f"http://127.0.0.1:{server.server_port}/mcp"

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield answer
        server.shutdown()
        thread.join()


def test_an_http_error_is_explained(refusing: Callable[[int], str], tmp_path: Path) -> None:
    def failure(status: int, variable: str = "", **environment: str) -> str:
        return probe(HttpServer(refusing(status), variable), environment=environment, cwd=str(tmp_path)).failure

    assert "needs a token; `--token-variable NAME`" in failure(401)
    assert "needs a token, and HUB_TOKEN is not set here" in failure(401, "HUB_TOKEN")
    assert "rejected the token in HUB_TOKEN" in failure(403, "HUB_TOKEN", HUB_TOKEN="wrong")
    assert "the path of a SkillHub server is /mcp" in failure(404)
    assert "answered with the HTTP status 503" in failure(503)


def test_a_desktop_program_passes_a_bare_path_and_no_secrets() -> None:
    machine = Machine(
        System.MACOS, {"HOME": "/Users/ada", "PATH": "/opt/bin", "OPENAI_API_KEY": "x"}, "/Users/ada", "/"
    )
    assert environment_of(StdioServer("x"), machine, from_desktop=True) == {
        "HOME": "/Users/ada",
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    }
