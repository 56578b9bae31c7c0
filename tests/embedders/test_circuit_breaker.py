"""The circuit breaker: open after a failure, closed again after its time."""

from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker


def test_a_failure_opens_the_circuit_for_as_long_as_was_said() -> None:
    now = [100.0]
    breaker = CircuitBreaker(30.0, clock=lambda: now[0])
    assert not breaker.is_open
    breaker.record_failure()
    assert breaker.is_open
    now[0] = 129.9
    assert breaker.is_open
    now[0] = 130.0
    assert not breaker.is_open


def test_another_failure_opens_it_anew() -> None:
    now = [0.0]
    breaker = CircuitBreaker(30.0, clock=lambda: now[0])
    breaker.record_failure()
    now[0] = 31.0
    breaker.record_failure()
    now[0] = 60.0
    assert breaker.is_open


def test_it_stays_open_longer_after_each_failure_until_a_success() -> None:
    now = [0.0]
    breaker = CircuitBreaker(15.0, longest=50.0, clock=lambda: now[0])
    pauses = []
    for _ in range(4):
        breaker.record_failure()
        pauses.append(breaker.seconds_left)
        now[0] += breaker.seconds_left
    assert (pauses, breaker.is_open) == ([15.0, 30.0, 50.0, 50.0], False)
    breaker.record_failure()
    breaker.record_success()
    assert (breaker.is_open, breaker.seconds_left) == (False, 0.0)
    breaker.record_failure()
    assert breaker.seconds_left == 15.0
