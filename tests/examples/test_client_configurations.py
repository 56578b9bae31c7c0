"""The configurations for clients and proxies are valid for the programs that read them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml

from skillhub_mcp.clients.entries import server_of
from skillhub_mcp.clients.model import HttpServer, StdioServer
from skillhub_mcp.clients.table import CLIENTS, client_named

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(path for path in (EXAMPLES / "clients").glob("*/*") if path.is_file())


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomlkit.parse(text).unwrap()
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text)


def test_every_client_has_a_file_for_each_transport() -> None:
    names = {
        client.name: {".http." in path.name for path in FILES if path.parent.name == client.name} for client in CLIENTS
    }
    assert {path.parent.name for path in FILES} == set(names)
    assert {name for name, kinds in names.items() if kinds != {False, True}} == {"claude-desktop"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_configuration_starts_the_hub_and_names_no_own_directory(path: Path) -> None:
    client = client_named(path.parent.name)
    servers = read(path)
    for key in client.key:
        servers = servers[key]
    (entry,) = servers if client.entries_are_listed else [servers["skillhub"]]
    http = HttpServer("http://127.0.0.1:8000/mcp")
    assert server_of(client, entry) == (http if ".http." in path.name else StdioServer("skillhub-mcp"))
    assert "SKILLS_DIR" not in path.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("nginx") is None or sys.platform == "win32", reason="nginx is not installed here")
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=skills.example.com"]
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
