"""The bundle is accepted by the official tool, and a host that brings its own uv starts what is in it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests import installs

from skillhub_mcp.clients.bundle import make_bundle
from skillhub_mcp.clients.wheel import own_wheel

pytestmark = pytest.mark.conformance


def test_the_official_tool_accepts_the_bundle(tmp_path: Path) -> None:
    modules = installs.npm_packages(Path(__file__).with_name("package.json"))
    tool = [str(installs.node()), str(modules / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js")]
    file = tmp_path / "skillhub.mcpb"
    file.write_bytes(make_bundle().content)
    for command in (("unpack", file, tmp_path / "unpacked"), ("validate", tmp_path / "unpacked")):
        done = subprocess.run([*tool, *command], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Manifest schema validation passes!" in done.stdout


def test_a_host_starts_the_unpacked_bundle_with_its_own_uv(tmp_path: Path) -> None:
    uv, own_environment = installs.uv()
    # As on macOS, where extensions lie below a directory with spaces.
    place = tmp_path / "Claude Extensions" / "skillhub"
    with zipfile.ZipFile(io.BytesIO(make_bundle().content)) as opened:
        opened.extractall(place)
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    arguments = [one.replace("${__dirname}", str(place)) for one in manifest["server"]["mcp_config"]["args"]]
    settings = {
        "UV_PYTHON": sys.executable,
        "SKILLS_DIR": str(tmp_path),
        "DB_PATH": str(tmp_path / "skills.lancedb"),
    }
    requests: list[dict[str, object]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "host", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    running = subprocess.Popen(
        [uv, *arguments],
        cwd=tmp_path,
        env=own_environment | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with running:
        assert running.stdin is not None
        assert running.stdout is not None
        for request in requests:
            running.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
        running.stdin.flush()
        started, listed = (json.loads(running.stdout.readline())["result"] for _ in range(2))
        running.stdin.close()
        assert running.wait(timeout=60) == 0
    assert started["serverInfo"]["version"] == own_wheel().own_version
    assert {tool["name"] for tool in listed["tools"]} == {tool["name"] for tool in manifest["tools"]}
