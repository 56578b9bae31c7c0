"""Refusals for browsers, curl and misconfigured clients: where the endpoint is, and how to get access."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from tests.server.bearers import ACCEPT, INITIALIZE, add_token, knock
from tests.server.connections import listening

from skillhub_mcp.version import version

pytestmark = pytest.mark.slow


def test_a_401_keeps_its_challenge_and_names_the_header(hub_environment: dict[str, str], tmp_path: Path) -> None:
    add_token(tmp_path / "tokens.json", "ci")
    with listening({**hub_environment, "SKILLHUB_TOKENS_FILE": str(tmp_path / "tokens.json")}) as url:
        for wrong, error in ((None, "token_required"), ("x" * 30, "invalid_token")):
            refused = knock(url, wrong)
            assert (refused.status_code, refused.json()["error"]) == (401, error)
            assert "'Authorization: Bearer TOKEN'" in refused.json()["error_description"]
            assert "'skillhub token new NAME'" in refused.json()["error_description"]
            challenge = refused.headers["www-authenticate"]
            # RFC 6750, section 3.1: no error code without a token.
            assert challenge.startswith("Bearer error=" if wrong else "Bearer")
            assert ("error" in challenge, "mistyped, expired or revoked" in challenge) == (bool(wrong), bool(wrong))
        to_person = httpx2.get(url, headers={"accept": "text/html"})
        assert (to_person.status_code, to_person.headers["www-authenticate"]) == (401, "Bearer")
        assert to_person.json()["error_description"].startswith("This server requires a token. Send one")
        assert version() not in to_person.text


def test_an_unknown_path_host_or_origin_is_refused_with_what_to_do(hub_environment: dict[str, str]) -> None:
    with listening(hub_environment) as url:
        root = url.removesuffix("mcp")
        # A client with an address without /mcp posts to the root.
        lost = httpx2.post(root, json=INITIALIZE, headers=ACCEPT)
        assert (lost.status_code, lost.json()["error"]) == (404, "not_found")
        assert lost.json()["error_description"] == f"Nothing is here. MCP clients connect to {url}."
        session = httpx2.get(url, headers={**ACCEPT, "mcp-session-id": "gone"})
        assert (session.status_code, session.json()["jsonrpc"]) == (404, "2.0")
        host, origin = knock(url, host="skills.example.org"), knock(url, origin="https://evil.example")
        assert (host.status_code, origin.status_code) == (421, 403)
        assert "SKILLHUB_PUBLIC_URL or SKILLHUB_ALLOWED_HOSTS" in host.json()["error_description"]
        assert "SKILLHUB_ALLOWED_ORIGINS" in origin.json()["error_description"]
