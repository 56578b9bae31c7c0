"""The log line that a server is ready, with its facts as fields."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of, settings_from
from tests.server.bearers import add_token

from skillhub_mcp.bootstrap.server import http_options, log_start

ADDRESS = "http://127.0.0.1:8000/mcp"
FACTS = ("skills", "transport", "tokens", "issuer", "address", "public_address", "project")


def reported(
    environment: Mapping[str, str], caplog: pytest.LogCaptureFixture, *, http: bool
) -> list[tuple[str, dict[str, object]]]:
    """The messages and the facts that two syncs of a hub let the log tell."""
    caplog.clear()
    caplog.set_level("INFO", "skillhub_mcp.start")
    settings = settings_from(environment)
    with hub_of(environment) as hub:
        http_facts = http_options(settings, host="127.0.0.1", port=0) if http else None
        log_start(hub, settings, http=http_facts, address=ADDRESS)
        hub.refresh()
        hub.refresh()
    lines = [record for record in caplog.records if record.name == "skillhub_mcp.start"]
    return [(line.getMessage(), {fact: vars(line)[fact] for fact in FACTS if fact in vars(line)}) for line in lines]


def test_the_start_line_counts_skills_and_tokens_without_secrets(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("alpha", "beta", "gamma"):
        write_skill(name)
    secrets = [add_token(tmp_path / "tokens.json", name) for name in ("ci", "bot")]
    environment = {
        **hub_environment,
        "SKILLHUB_CWD": str(tmp_path),
        "SKILLHUB_ENABLED_SKILLS": "alpha,beta",
        "SKILLHUB_TOKEN": "x" * 30,
        "SKILLHUB_TOKENS_FILE": str(tmp_path / "tokens.json"),
        "SKILLHUB_JWT_ISSUER": "https://login.example.com",
        "SKILLHUB_JWT_AUDIENCE": "https://skills.example.com/mcp",
        "SKILLHUB_PUBLIC_URL": "https://skills.example.com/mcp",
    }
    facts = {
        "skills": 2,
        "transport": "http",
        "tokens": 3,
        "issuer": "https://login.example.com",
        "address": ADDRESS,
        "public_address": "https://skills.example.com/mcp",
        "project": str(tmp_path.resolve()),
    }
    assert reported(environment, caplog, http=True) == [("Ready", facts)]
    assert not any(secret in caplog.text for secret in (*secrets, "x" * 30))
