"""`skillhub connect --link`."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.cli.conftest import Skillhub


def test_a_link_is_printed_alone_and_nothing_is_written(skillhub: Skillhub, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = skillhub("connect", "--link", "cursor", "--env", "LOG_LEVEL=ERROR", HOME=str(home))
    assert (done.code, done.out.count("\n")) == (0, 1)
    config = parse_qs(urlsplit(done.out.strip()).query)["config"][0]
    entry = json.loads(base64.b64decode(config))
    assert os.path.isabs(entry["command"])
    assert entry["env"] == {"LOG_LEVEL": "ERROR"}
    assert "Cursor shows what it will add" in done.err
    assert list(home.iterdir()) == []


def test_a_link_leads_to_a_server_over_http_under_a_name(skillhub: Skillhub) -> None:
    done = skillhub("connect", "--link", "vscode", "--http", "http://127.0.0.1:8000/mcp", "--name", "team", "--json")
    assert (done.json["client"], done.json["name"]) == ("vscode", "team")
    assert done.json["link"].startswith("vscode:mcp/install?%7B%22name%22%3A%22team%22%2C%22type%22%3A%22http%22")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["cursor"], "--link takes no CLIENT, --all and --scope"),
        (["--all"], "--link takes no CLIENT, --all and --scope"),
        (["--list"], "--list"),
        (["--env", "OPENAI_API_KEY=sk-1234567890abcdef"], "looks like a secret"),
        (["--link", "zed"], "cursor, lm-studio, vscode, vscode-insiders"),
    ],
)
def test_options_secrets_and_clients_without_links_are_refused(skillhub: Skillhub, typed: list[str], said: str) -> None:
    done = skillhub("connect", "--link", "cursor", *typed)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
