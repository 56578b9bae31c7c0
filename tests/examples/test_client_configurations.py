"""The configurations for clients and proxies are valid for the programs that read them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CLIENTS = {"cursor", "windsurf", "claude-desktop", "claude-code", "vscode", "codex", "gemini-cli"}


def test_every_client_has_its_configuration() -> None:
    assert {path.name for path in (EXAMPLES / "clients").iterdir() if path.is_dir()} == CLIENTS


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "clients").glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_configuration_names_the_hub(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        tomllib = pytest.importorskip("tomllib", reason="TOML is read by Python from 3.11 on")
        servers = tomllib.loads(text)["mcp_servers"]
    else:
        (servers,) = json.loads(text).values()
    entry = servers["skillhub"]
    if ".http." in path.name:
        assert [value for value in entry.values() if value == "http://127.0.0.1:8000/mcp"]
    else:
        assert entry["command"] == "skillhub-mcp"
        assert entry["env"] == {"SKILLS_DIR": "~/.skillhub/skills"}


@pytest.mark.skipif(shutil.which("nginx") is None or sys.platform == "win32", reason="nginx is not installed here")
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=skills.example.com",
    ]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    text = (EXAMPLES / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    text = text.replace("/etc/ssl/certs/skills.example.com.pem", str(certificate))
    text = text.replace("/etc/ssl/private/skills.example.com.key", str(key))
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/nginx.pid; events {{}} http {{ access_log off; {text} }}", encoding="utf-8")
    tested = subprocess.run(
        ["nginx", "-t", "-c", str(whole), "-p", str(tmp_path), "-e", str(tmp_path / "error.log")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert tested.returncode == 0, tested.stderr
