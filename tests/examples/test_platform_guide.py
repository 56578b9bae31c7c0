"""The guide for platform engineers: each command of it runs, in its order, against an S3 server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.fakes.object_storage import ObjectStorage, object_storage

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
GUIDE = CHECKOUT / "docs" / "guides" / "platform.md"
# Tests of the image, the manifests and the unit check what these would change on this machine.
_INSTALLING = ("docker ", "kubectl ", "python3 -m venv ", "mkdir ", "/opt/skillhub/", "cp ")
_BUCKET = "company-skills"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands() -> Iterator[str]:
    """Yield each command of the guide but those that install a server."""
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith(_INSTALLING):
                yield line


@pytest.fixture(scope="module")
def storage() -> Iterator[ObjectStorage]:
    with object_storage() as server:
        server.make_bucket(_BUCKET)
        yield server


def ready(server: subprocess.Popen[str]) -> str:
    """Wait until a server is ready, and return its port."""
    assert server.stderr is not None
    port = ""
    for line in server.stderr:
        port = (re.search(r"Serving MCP at http://127\.0\.0\.1:(\d+)/", line) or ["", port])[1]
        if "Ready skills=" in line:
            return port
    raise AssertionError("the server ended")


def test_the_commands_of_the_guide_run_in_order(storage: ObjectStorage, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "examples" / "skills", tmp_path / "skills")
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "EMBEDDING_PROVIDER": "none",
    }
    said: dict[str, str] = {}
    port = ""
    with ExitStack() as stack:
        for command in commands():
            if command.startswith("export "):
                for assigned in command.split("  #")[0].removeprefix("export ").split():
                    name, _, value = assigned.partition("=")
                    environment[name] = storage.setting if name == "SKILLHUB_STORAGE_OPTIONS" else value
                continue
            if command.startswith("skillhub-mcp "):
                typed = command.replace("--port 8000", "--port 0").split()
                server = stack.enter_context(
                    subprocess.Popen(typed, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
                )
                stack.callback(server.terminate)
                port = ready(server)
                continue
            done = subprocess.run(
                command.replace(":8000/", f":{port}/"),
                shell=True,
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            said[command] = done.stdout
    by_end = {command.split("/main")[-1].strip(): text for command, text in said.items()}
    assert "unchanged since publication 1" not in by_end["--skills-dir skills --roots hub"]
    assert by_end["--skills-dir skills --roots hub --dry-run"].startswith("would change nothing")
    assert '"index":"ready"' in said["curl http://127.0.0.1:8000/readyz"].replace(" ", "")
    assert by_end["--rollback 1"].startswith("published 2: what publication 1 had")

    (program,) = blocks("python")
    program = program.replace('{"region": "eu-central-1"}', repr(storage.options))
    read = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert read.returncode == 0, read.stderr
    assert read.stdout.startswith("hub/sql-query-review ")
