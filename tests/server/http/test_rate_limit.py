"""The limits for one client: of requests and of wrong tokens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest
from tests.server.bearers import add_token, knock
from tests.server.connections import caller, listening

from skillhub_mcp.server.http.rate_limit import TokenBuckets, WrongTokens, address_of


class Clock:
    """A clock that somebody else moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_holds_a_minutes_worth_and_fills_evenly_over_one() -> None:
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


def test_a_refused_request_costs_nothing_and_few_clients_are_kept() -> None:
    buckets = TokenBuckets(1, clock=Clock())
    buckets.take("first")
    assert {buckets.take("first") for _ in range(5)} == {60}
    for number in range(10_000):
        buckets.take(str(number))
    assert len(buckets._levels) == 10_000
    # The first was heard of longest ago, and begins anew.
    assert buckets.take("first") == 0


def test_only_wrong_tokens_count_and_what_record_accepted_is_looked_at_until_it_is_wrong() -> None:
    wrong = WrongTokens(per_minute=2, clock=Clock())
    wrong.record_accepted("good")
    for guess in ("x", "y"):
        assert wrong.wait("here", guess) is None
        wrong.record_wrong("here", guess)
    refused = wrong.wait("here", "z")
    assert refused is not None
    assert refused.seconds == 30
    assert wrong.wait("elsewhere", "z") is None
    assert wrong.wait("here", "good") is None
    wrong.record_wrong("here", "good")
    assert wrong.wait("here", "good") is not None
    for number in range(10_001):
        wrong.record_accepted(str(number))
    assert len(wrong._accepted) == 10_000


@pytest.mark.parametrize(
    ("host", "counts_as"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a.sock", "a.sock"),
        # Ten thousand of what a trusted proxy reports are remembered.
        ("x" * 60_000, "x" * 64),
    ],
)
def test_a_client_is_its_address_and_of_ipv6_the_part_that_others_have_not(host: str, counts_as: str) -> None:
    assert address_of({"client": (host, 1)}) == counts_as
    assert address_of({"client": None}) == ""


@pytest.mark.slow
def test_too_many_requests_are_refused_and_probes_never(hub_environment: dict[str, str]) -> None:
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


@pytest.mark.slow
def test_a_client_is_known_by_its_token_before_its_address(hub_environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    one, other = add_token(file, "one"), add_token(file, "other")
    with listening({**hub_environment, "SKILLHUB_TOKENS_FILE": str(file), "SKILLHUB_RATE_LIMIT": "2"}) as url:
        assert [knock(url, one).status_code for _ in range(3)] == [200, 200, 429]
        assert [knock(url, other).status_code for _ in range(3)] == [200, 200, 429]
        # Who has none, or a wrong one, is known by the address.
        assert [knock(url, token).status_code for token in (None, "wrong", None)] == [401, 401, 429]


@pytest.mark.slow
def test_without_a_limit_no_request_is_refused(hub_environment: dict[str, str]) -> None:
    with listening({**hub_environment, "SKILLHUB_RATE_LIMIT": "0"}) as url:
        assert {knock(url).status_code for _ in range(20)} == {200}


def test_limits_are_not_in_the_way_of_a_usual_session(hub_environment: dict[str, str]) -> None:
    async def go(url: str, mode: str) -> int:
        async with caller(url, mode) as hub:
            return len([await hub.call("search_skills", query="x") for _ in range(10)])

    with listening(hub_environment) as url:
        assert [asyncio.run(go(url, mode)) for mode in ("auto", "legacy")] == [10, 10]
