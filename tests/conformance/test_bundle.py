"""The bundle is accepted by the official tool, and a host that brings its own uv starts what is in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests import installs

from skillhub_mcp.clients.bundle import make_bundle
from skillhub_mcp.clients.model import StdioServer
from skillhub_mcp.clients.probe import probe

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


def test_a_host_starts_the_bundle_with_its_own_uv(tmp_path: Path) -> None:
    # As on macOS, where extensions lie below a directory with spaces.
    place = tmp_path / "Claude Extensions" / "skillhub"
    with zipfile.ZipFile(io.BytesIO(make_bundle().content)) as opened:
        opened.extractall(place)
    uv, environment = installs.uv_project(place)
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    arguments = [one.replace("${__dirname}", str(place)) for one in manifest["server"]["mcp_config"]["args"]]
    settings = {"SKILLS_DIR": str(tmp_path), "DB_PATH": str(tmp_path / "skills.lancedb")}
    probed = probe(StdioServer(uv, tuple(arguments), settings), environment=environment, cwd=str(tmp_path), seconds=60)
    assert probed.failure == ""
    assert probed.version.startswith(f"{manifest['version']}+bundle.x")
    assert set(probed.tools) == {tool["name"] for tool in manifest["tools"]}


def test_an_installed_program_makes_the_same_bundle(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    with zipfile.ZipFile(installs.built_wheel(Path(__file__).parents[2], tmp_path)) as opened:
        opened.extractall(installed)
        for entry in opened.infolist():
            # As installers do, and extractall does not.
            (installed / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
    program = (
        "import sys, skillhub_mcp; from skillhub_mcp.clients.bundle import make_bundle; "
        "assert skillhub_mcp.__file__.startswith(sys.argv[1]); sys.stdout.buffer.write(make_bundle().content)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, installed],
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == make_bundle().content
