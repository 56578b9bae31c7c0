"""/metrics of a real server over HTTP: content, access, and totals of several processes."""

from __future__ import annotations

import asyncio

import httpx2
import mcp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.conftest import SkillWriter
from tests.server.connections import listening

pytestmark = pytest.mark.slow

Samples = dict[tuple[str, ...], float]


@pytest.fixture
def environment(hub_environment: dict[str, str], write_skill: SkillWriter) -> dict[str, str]:
    write_skill("pdf", "Reads and fills PDF forms.")
    return {**hub_environment, "SKILLHUB_METRICS": "1"}


async def use(url: str) -> None:
    async with mcp.Client(url) as client:
        await client.call_tool("load_skill", {"skill_name": "pdf"})
        await client.call_tool("load_skill", {"skill_name": "pfd"})
        await client.call_tool("read_skill_file", {"skill_name": "pdf", "file_path": "SKILL.md"})
        await client.call_tool("search_skills", {"query": "fill a form"})


def ask(url: str, **headers: str) -> httpx2.Response:
    return httpx2.get(url.removesuffix("/mcp") + "/metrics", headers=headers)


def scraped(url: str) -> Samples:
    """The value of each sample, by name and label values in the order of the label names."""
    answer = ask(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_client_activity_can_be_scraped(environment: dict[str, str]) -> None:
    with listening(environment) as url:
        asyncio.run(use(url))
        found = scraped(url)
    assert found["skillhub_requests_total", "tools/call", "ok", "load_skill"] == 1
    # The client's own request: the SDK's internal tool listings do not count.
    assert found["skillhub_requests_total", "tools/list", "ok", ""] == 1
    assert found["skillhub_request_duration_seconds_count", "tools/call", "search_skills"] == 1
    assert [found["skillhub_loads_total", outcome] for outcome in ("ok", "SKILL_NOT_FOUND")] == [1, 1]
    assert found["skillhub_reads_total", "ok"] == 1
    assert found["skillhub_search_hits_count", "true"] == 1
    assert found["skillhub_search_duration_seconds_count", "fts", "ok"] == 1
    assert found[("skillhub_index_skills",)] == 1
    assert all(name.startswith("skillhub_") for name, *_ in found)
    assert "pdf" not in repr(found)


def test_with_authentication_metrics_need_a_token(environment: dict[str, str]) -> None:
    with listening({**environment, "SKILLHUB_TOKEN": "a-token-that-nobody-guesses"}) as url:
        stranger, liar = ask(url), ask(url, authorization="Bearer another")
        bearer = ask(url, authorization="Bearer a-token-that-nobody-guesses")
    assert [answer.status_code for answer in (stranger, liar, bearer)] == [401, 401, 200]
    assert [answer.json()["error"] for answer in (stranger, liar)] == ["token_required", "invalid_token"]
    assert b"skillhub_index_skills" in bearer.content


def test_metrics_and_readiness_answer_the_hosts_of_the_endpoint_and_health_any(environment: dict[str, str]) -> None:
    with listening({**environment, "SKILLHUB_ALLOWED_HOSTS": "skills.example.com"}) as url:

        def status(path: str, **headers: str) -> int:
            return httpx2.get(url.replace("/mcp", path), headers=headers).status_code

        for path in ("/metrics", "/readyz"):
            assert status(path) in (200, 503)
            assert status(path, host="skills.example.com") != 421
            assert status(path, host="evil.example.com") == 421
            assert status(path, host="10.0.0.5") == 421
            assert status(path, origin="https://evil.example.com") == 403
        assert "SKILLHUB_ALLOWED_HOSTS" in ask(url, host="evil.example.com").text
        assert status("/healthz", host="10.0.0.5", origin="https://evil.example.com") == 200
