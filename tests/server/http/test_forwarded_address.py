"""Forwarding headers count if the proxy is trusted, and change nothing otherwise."""

from __future__ import annotations

import pytest
from tests.server.bearers import knock
from tests.server.connections import listening

pytestmark = pytest.mark.slow

HOST = {"host": "skills.example.com"}
ORIGIN = {**HOST, "origin": "https://skills.example.com"}
PUBLIC = "https://elsewhere.example.com/mcp"
TRUSTING = [{"SKILLHUB_PUBLIC_URL": PUBLIC}, {"SKILLHUB_TRUSTED_PROXIES": "10.0.0.0/8,127.0.0.0/8"}]
DISTRUSTING = [
    {},
    {"SKILLHUB_PUBLIC_URL": PUBLIC.replace("https", "http")},
    {"SKILLHUB_PUBLIC_URL": PUBLIC, "SKILLHUB_TRUSTED_PROXIES": "none"},
    {"SKILLHUB_TRUSTED_PROXIES": "10.0.0.0/8,::1"},
]


@pytest.fixture
def environment(hub_environment: dict[str, str]) -> dict[str, str]:
    return {**hub_environment, "SKILLHUB_ALLOWED_HOSTS": "skills.example.com"}


@pytest.mark.parametrize("proxies", TRUSTING, ids=["declared by TLS", "a network"])
def test_behind_a_tls_proxy_the_servers_own_pages_may_call(
    environment: dict[str, str], proxies: dict[str, str]
) -> None:
    with listening({**environment, **proxies}) as url:
        assert knock(url, **HOST).status_code == 200
        assert knock(url, **ORIGIN).status_code == 403
        tls = {"x-forwarded-proto": "https"}
        assert knock(url, **ORIGIN, **tls).status_code == 200
        assert knock(url, **{**ORIGIN, "origin": "https://evil.example.com"}, **tls).status_code == 403
        assert knock(url, **{**ORIGIN, "origin": "http://skills.example.com"}, **tls).status_code == 403
        # Only the checked header decides the host.
        assert knock(url, host="evil.example.com", **{"x-forwarded-host": "skills.example.com"}).status_code == 421


@pytest.mark.parametrize("proxies", DISTRUSTING, ids=["none declared", "no TLS", "nobody", "others"])
def test_forwarding_headers_of_strangers_are_ignored(environment: dict[str, str], proxies: dict[str, str]) -> None:
    with listening({**environment, **proxies, "SKILLHUB_RATE_LIMIT": "3"}) as url:
        assert knock(url, **ORIGIN, **{"x-forwarded-proto": "https"}).status_code == 403
        # The three requests count for one client despite their headers.
        said = [
            {"x-forwarded-for": f"198.51.100.{number}", "forwarded": f"for=198.51.100.{number}"} for number in range(4)
        ]
        assert [knock(url, **HOST, **headers).status_code for headers in said] == [200, 200, 200, 429]


def test_clients_of_a_trusted_proxy_are_distinguished_safely(environment: dict[str, str]) -> None:
    with listening({**environment, "SKILLHUB_TRUSTED_PROXIES": "127.0.0.1", "SKILLHUB_RATE_LIMIT": "2"}) as url:

        def statuses(*chains: str) -> list[int]:
            return [knock(url, **HOST, **{"x-forwarded-for": chain}).status_code for chain in chains]

        assert statuses(*["198.51.100.1"] * 3) == [200, 200, 429]
        assert statuses("198.51.100.2") == [200]
        # The proxy appends the real address; earlier ones are forged by the client.
        assert statuses("203.0.113.9, 198.51.100.1", "203.0.113.10, 198.51.100.1") == [429, 429]
        assert statuses("198.51.100.1, 127.0.0.1") == [429]
