"""The circuit breaker: open after a failure, closed again after its time."""

from skillhub_mcp.circuit_breaker import CircuitBreaker


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
