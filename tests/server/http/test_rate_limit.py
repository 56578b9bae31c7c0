"""Rate limits of a client: requests and wrong tokens."""

from __future__ import annotations

import httpx2
import pytest
from tests.server.bearers import knock
from tests.server.connections import listening

from skillhub_mcp.server.http.rate_limit import TokenBuckets, address_of


class Clock:
    """A clock that the test moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_and_refills_one_minutes_requests() -> None:
    clock = Clock()
    buckets = TokenBuckets(60, clock=clock)
    assert [buckets.take("a") for _ in range(61)] == [0] * 60 + [1]
    assert buckets.take("b") == 0
    clock.now += 0.5
    assert buckets.take("a") == 1
    clock.now += 0.5
    assert [buckets.take("a"), buckets.take("a")] == [0, 1]
    clock.now += 3_600
    assert [buckets.take("a") for _ in range(61)] == [0] * 60 + [1]
    slow = TokenBuckets(1, clock=clock)
    assert [slow.take("a"), slow.take("a")] == [0, 60]
    clock.now += 59.5
    assert slow.wait("a") == 1


@pytest.mark.parametrize(
    ("host", "counts_as"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a.sock", "a.sock"),
        # Ten thousand forwarded addresses are remembered.
        ("x" * 60_000, "x" * 64),
    ],
)
def test_a_client_is_an_ipv4_address_or_an_ipv6_prefix(host: str, counts_as: str) -> None:
    assert address_of({"client": (host, 1)}) == counts_as
    assert address_of({"client": None}) == ""


@pytest.mark.slow
def test_too_many_requests_are_refused_except_probes(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_RATE_LIMIT": "3"}) as url:
        answers = [knock(url) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        refused = answers[-1]
        seconds = int(refused.headers["retry-after"])
        assert 1 <= seconds <= 20
        assert refused.json() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {
                "code": -31_000,
                "message": "RATE_LIMITED: This client sent more than 3 requests a minute. "
                f"Wait {seconds} second{'s' if seconds > 1 else ''} and try again.",
                "data": {
                    "code": "RATE_LIMITED",
                    "per_minute": 3,
                    "retry_after": seconds,
                    "hint": f"wait {seconds} second{'s' if seconds > 1 else ''} and try again",
                },
            },
        }
        for probe in ("/healthz", "/readyz"):
            assert {httpx2.get(url.removesuffix("/mcp") + probe).status_code for _ in range(5)} <= {200, 503}
