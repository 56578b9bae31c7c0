"""The circuit breaker: open after a failure, longer after each further one, closed by a success."""

from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker


def test_the_circuit_stays_open_longer_after_each_failure_until_a_success() -> None:
    now = [0.0]
    breaker = CircuitBreaker(15.0, longest=50.0, clock=lambda: now[0])
    assert not breaker.is_open
    pauses: list[float] = []
    for _ in range(4):
        breaker.record_failure()
        assert breaker.is_open
        pauses.append(breaker.seconds_left)
        now[0] += breaker.seconds_left
        assert not breaker.is_open
    assert pauses == [15.0, 30.0, 50.0, 50.0]
    breaker.record_failure()
    breaker.record_success()
    assert (breaker.is_open, breaker.seconds_left) == (False, 0.0)
    breaker.record_failure()
    assert breaker.seconds_left == 15.0
