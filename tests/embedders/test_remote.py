"""The remote embedder: batches, retries and waits, with scripted requests and without real sleep."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.embedders.base import TimeLimits, Vector
from skillhub_mcp.embedders.remote import (
    MAX_BATCH_BYTES,
    MAX_BATCH_TEXTS,
    MAX_TEXT_BYTES,
    Purpose,
    RemoteEmbedder,
    RequestFailed,
    batches,
    sendable,
    status_failure,
    unreachable,
)
from skillhub_mcp.errors import EmbeddingError


class Scripted:
    """A request that raises each of `failures` in turn, where None is an answer, and then answers."""

    def __init__(self, *failures: Exception | None) -> None:
        self._failures = list(failures)
        self.calls = 0
        self.sizes: list[int] = []
        self.closed = False

    def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
        del purpose, timeout
        self.calls += 1
        self.sizes.append(len(texts))
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        return [[3.0, 4.0] for _ in texts]

    def close(self) -> None:
        self.closed = True


PATIENT = TimeLimits(total=1000.0, outage=1000.0)


def embedder_over(
    request: Scripted, waits: list[float], *, waiting: TimeLimits = PATIENT, unhurried: TimeLimits = PATIENT
) -> RemoteEmbedder:
    """An embedder whose clock is moved by its own waits alone."""
    return RemoteEmbedder(
        "a:b",
        request,
        waiting=waiting,
        unhurried=unhurried,
        sleep=waits.append,
        clock=lambda: sum(waits),
    )


def test_pauses_double_up_to_a_bound() -> None:
    request, waits = Scripted(*[RequestFailed("failed", retryable=True) for _ in range(9)]), list[float]()
    assert embedder_over(request, waits).embed_query("x") == [0.6, 0.8]
    longest = [0.5, 1, 2, 4, 8, 16, 20, 20, 20]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))


def test_a_provider_that_asks_for_a_wait_gets_it() -> None:
    waits: list[float] = []
    embedder_over(Scripted(status_failure(429, retry_after="17")), waits).embed_query("x")
    assert waits == [17.0]


def test_a_provider_that_asks_for_no_wait_is_still_called_with_pauses() -> None:
    waits: list[float] = []
    embedder_over(Scripted(*[status_failure(429, retry_after="0") for _ in range(5)]), waits).embed_query("x")
    assert all(wait >= least for wait, least in zip(waits, [0.25, 0.5, 1, 2, 4], strict=True))


def test_a_final_failure_is_not_retried() -> None:
    request, waits = Scripted(RequestFailed("is gone", retryable=False)), list[float]()
    with pytest.raises(EmbeddingError, match="The embedding provider a:b is gone"):
        embedder_over(request, waits).embed_query("x")
    assert (request.calls, waits) == (1, [])


def test_who_needs_long_for_many_texts_is_asked_for_fewer_the_next_time() -> None:
    late = RequestFailed("did not answer in time", retryable=False)
    request = Scripted(*[late] * 8)
    embedder = embedder_over(request, [])
    for _ in range(8):
        with pytest.raises(EmbeddingError, match="in time"):
            embedder.embed_documents(["x"] * 80)
    embedder.embed_documents(["x"] * 80)
    assert request.sizes == [80, 40, 20, *[10] * 5, *[10] * 8]


def test_a_query_that_was_late_says_nothing_of_how_many_texts_are_too_many() -> None:
    request = Scripted(RequestFailed("did not answer in time", retryable=False))
    embedder = embedder_over(request, [])
    with pytest.raises(EmbeddingError):
        embedder.embed_query("x")
    embedder.embed_documents(["x"] * 80)
    assert request.sizes == [1, 80]


def test_no_half_is_asked_for_once_the_time_of_who_waits_is_over() -> None:
    seconds: list[float] = []

    class Slow(Scripted):
        def __call__(self, texts: Sequence[str], *, purpose: Purpose, timeout: float) -> list[Vector]:
            seconds.append(3.0)
            return super().__call__(texts, purpose=purpose, timeout=timeout)

    request = Slow(*[status_failure(413, retry_after=None)] * 9)
    embedder = embedder_over(request, seconds, waiting=TimeLimits(total=5.0, outage=5.0))
    with pytest.raises(EmbeddingError, match="413"):
        embedder.embed_documents(["x"] * 80, waiting=True)
    assert request.sizes == [80, 40]


LIMITS = {"waiting": TimeLimits(total=5.0, outage=2.0), "unhurried": TimeLimits(total=60.0, outage=10.0)}


@pytest.mark.parametrize("failure", [unreachable(OSError()), status_failure(500, retry_after=None)])
@pytest.mark.parametrize(("waiting", "seconds"), [(True, 2.0), (False, 10.0)])
def test_an_outage_ends_the_call_sooner_than_a_provider_that_is_slow(
    failure: RequestFailed, waiting: bool, seconds: float
) -> None:
    waits: list[float] = []
    with pytest.raises(EmbeddingError, match=failure.reason.replace("(", r"\(").replace(")", r"\)")):
        embedder_over(Scripted(*[failure] * 50), waits, **LIMITS).embed_documents(["x"], waiting=waiting)
    assert seconds / 4 <= sum(waits) < seconds


def test_a_provider_that_asks_for_a_wait_is_no_outage() -> None:
    waits: list[float] = []
    embedder_over(Scripted(status_failure(429, retry_after="4")), waits, **LIMITS).embed_query("x")
    assert waits == [4.0]
    with pytest.raises(EmbeddingError, match="429"):
        embedder_over(Scripted(*[status_failure(429, retry_after="4")] * 9), waits, **LIMITS).embed_query("x")
    assert waits == [4.0] * 2


def test_each_batch_has_the_time_limits_for_itself() -> None:
    waits: list[float] = []
    request = Scripted(*[status_failure(429, retry_after="4"), None] * 3)
    vectors = embedder_over(request, waits, **LIMITS).embed_documents(["x"] * MAX_BATCH_TEXTS * 3, waiting=True)
    assert (len(vectors), waits) == (300, [4.0] * 3)


def test_a_bug_of_the_caller_is_not_reported_as_a_provider_failure() -> None:
    with pytest.raises(ZeroDivisionError):
        embedder_over(Scripted(ZeroDivisionError()), []).embed_query("x")


def test_closing_closes_the_request() -> None:
    request = Scripted()
    embedder_over(request, []).close()
    assert request.closed


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("nan", 0.0),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
    ],
)
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    assert status_failure(429, retry_after=header).retry_after == seconds


def test_retry_after_may_be_a_date() -> None:
    in_an_hour = formatdate(time.time() + 3600, usegmt=True)
    assert status_failure(503, retry_after=in_an_hour).retry_after == pytest.approx(3600, abs=60)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (403, False), (404, False), (307, False), (408, True), (429, True), (500, True)],
)
def test_temporary_statuses_are_retryable_and_others_are_not(status: int, retryable: bool) -> None:
    assert status_failure(status, retry_after=None).retryable is retryable


TEXTS = st.text(max_size=50) | st.builds(lambda letter, n: letter * n, st.characters(), st.integers(1, 9_000))


@pytest.mark.slow
@given(st.lists(TEXTS, max_size=300))
def test_batches_keep_every_text_in_order_and_within_bounds(texts: list[str]) -> None:
    made = list(batches(texts))
    assert [text for batch in made for text in batch] == [sendable(text) for text in texts]
    assert all(0 < len(batch) <= MAX_BATCH_TEXTS for batch in made)
    assert all(sum(len(text.encode()) for text in batch) <= MAX_BATCH_BYTES for batch in made)


def test_long_texts_fill_a_request_before_their_number_does() -> None:
    made = list(batches(["字" * MAX_TEXT_BYTES] * MAX_BATCH_TEXTS))
    assert [len(batch) for batch in made] == [33, 33, 33, 1]  # of 6,000 bytes each, in 200,000


@given(st.lists(TEXTS, max_size=300))
def test_no_batch_could_have_taken_the_next_text(texts: list[str]) -> None:
    made = list(batches(texts))
    for batch, following in itertools.pairwise(made):
        size = sum(len(text.encode()) for text in [*batch, following[0]])
        assert len(batch) == MAX_BATCH_TEXTS or size > MAX_BATCH_BYTES


@given(TEXTS)
def test_a_text_is_cut_only_where_it_is_too_long_and_between_characters(text: str) -> None:
    plain = text.encode(errors="replace").decode()
    kept = sendable(text)
    assert plain.startswith(kept)
    assert len(kept.encode()) <= MAX_TEXT_BYTES
    if kept != plain:
        assert len(kept.encode()) > MAX_TEXT_BYTES - 4


def test_an_attempt_that_ends_with_the_deadline_does_not_hide_why_the_ones_before_failed() -> None:
    late = RequestFailed("did not answer in time", retryable=False)
    for failures, reason in (([late], "in time"), ([status_failure(503, retry_after=None), late], "status 503")):
        with pytest.raises(EmbeddingError, match=reason):
            embedder_over(Scripted(*failures), []).embed_query("x")
