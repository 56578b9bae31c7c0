"""The front page for browsers, curl and misconfigured clients: product, endpoint and access."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.conftest import SkillWriter
from tests.server.bearers import ACCEPT, INITIALIZE, add_token, knock
from tests.server.connections import listening

from skillhub_mcp.version import version

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
JSON = {"accept": "application/json"}
PUBLIC = "https://skills.example.com/mcp"


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    write_skill("secret-plan")
    return hub_environment


@pytest.fixture
def anonymous(environment: dict[str, str]) -> Iterator[httpx2.Client]:
    """A client of a server without tokens."""
    with listening(environment) as url, httpx2.Client(base_url=url.removesuffix("/mcp"), timeout=30) as http:
        yield http


@pytest.fixture
def asking(environment: dict[str, str], tmp_path: Path) -> Iterator[httpx2.Client]:
    """A client of a server with a token file."""
    add_token(tmp_path / "tokens.json", "ci")
    settings = {"SKILLHUB_TOKENS_FILE": str(tmp_path / "tokens.json"), "SKILLHUB_PUBLIC_URL": PUBLIC}
    with (
        listening({**environment, **settings}) as url,
        httpx2.Client(base_url=url.removesuffix("/mcp"), timeout=30) as http,
    ):
        yield http


def mcp_url(client: httpx2.Client) -> str:
    return str(client.base_url.join("/mcp"))


def test_the_root_describes_the_server_for_any_host(anonymous: httpx2.Client) -> None:
    for headers in ({}, BROWSER):
        page = anonymous.get("/", headers=headers)
        assert (page.status_code, page.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert page.text.startswith(f"SkillHub {version()}: ")
        assert f"skillhub connect CLIENT --http {mcp_url(anonymous)}\n" in page.text
        assert "/healthz" in page.text
    # Load balancers use other host names; an invalid name is not repeated.
    assert "endpoint  http://10.0.0.5/mcp\n" in anonymous.get("/", headers={"host": "10.0.0.5"}).text
    assert "endpoint  /mcp\n" in anonymous.get("/", headers={"host": "<script>"}).text


def test_a_server_with_tokens_shows_strangers_neither_skills_nor_version(asking: httpx2.Client) -> None:
    page = asking.get("/").text
    assert "required, as 'Authorization: Bearer TOKEN'" in page
    assert f"skillhub connect CLIENT --http {PUBLIC} --token-variable SKILLHUB_TOKEN\n" in page
    assert "skillhub token new NAME" in page
    assert version() not in page
    assert "secret" not in page


@pytest.mark.slow
def test_a_401_keeps_its_challenge_and_names_the_header(asking: httpx2.Client) -> None:
    url = mcp_url(asking)
    for wrong, error in ((None, "token_required"), ("x" * 30, "invalid_token")):
        refused = knock(url, wrong)
        assert (refused.status_code, refused.json()["error"]) == (401, error)
        assert "'Authorization: Bearer TOKEN'" in refused.json()["error_description"]
        assert "'skillhub token new NAME'" in refused.json()["error_description"]
        challenge = refused.headers["www-authenticate"]
        # RFC 6750, section 3.1: no error code without a token.
        assert challenge.startswith("Bearer error=" if wrong else "Bearer")
        assert ("error" in challenge, "mistyped, expired or revoked" in challenge) == (bool(wrong), bool(wrong))
    to_person = asking.get("/mcp", headers=BROWSER)
    assert (to_person.status_code, to_person.headers["www-authenticate"]) == (401, "Bearer")
    assert to_person.json()["error_description"].startswith("This server requires a token. Send one")


def test_an_unknown_path_names_the_endpoint(anonymous: httpx2.Client) -> None:
    """A client with an address without /mcp posts to the root."""
    lost = anonymous.post("/", json=INITIALIZE, headers=ACCEPT)
    assert (lost.status_code, lost.json()["error"]) == (404, "not_found")
    assert lost.json()["error_description"] == f"Nothing is here. MCP clients connect to {mcp_url(anonymous)}."
    assert anonymous.get("/docs").json()["error_description"].startswith("Nothing is here. MCP clients connect to ")


def test_browsers_at_the_endpoint_get_an_explanation(anonymous: httpx2.Client) -> None:
    for headers in (BROWSER, {}):
        page = anonymous.get("/mcp", headers=headers)
        assert (page.status_code, page.text.partition(":")[0]) == (400, "This is the endpoint for MCP clients")
    assert anonymous.head("/mcp", headers=BROWSER).headers["allow"] == "GET, POST, DELETE"
    assert anonymous.get("/mcp", headers=JSON).json()["jsonrpc"] == "2.0"
    lost = anonymous.get("/mcp", headers={**ACCEPT, "mcp-session-id": "gone"})
    assert (lost.status_code, lost.json()["jsonrpc"]) == (404, "2.0")


def test_a_refused_host_or_origin_names_the_setting_that_allows_it(anonymous: httpx2.Client) -> None:
    url = mcp_url(anonymous)
    host, origin = knock(url, host="skills.example.org"), knock(url, origin="https://evil.example")
    assert (host.status_code, origin.status_code) == (421, 403)
    assert "SKILLHUB_PUBLIC_URL or SKILLHUB_ALLOWED_HOSTS" in host.json()["error_description"]
    assert "SKILLHUB_ALLOWED_ORIGINS" in origin.json()["error_description"]
