"""However many threads give way at once, and however they end, the process is as it was before."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import pytest

from skillhub_mcp.index import giving_way
from skillhub_mcp.index.giving_way import GIVING_WAY


def test_the_last_one_that_ends_leaves_what_the_first_one_found() -> None:
    usual = sys.getswitchinterval()
    for _ in range(2):
        first, second = ExitStack(), ExitStack()
        first.enter_context(GIVING_WAY)
        second.enter_context(GIVING_WAY)
        assert sys.getswitchinterval() == pytest.approx(giving_way._SWITCH_SECONDS)
        first.close()
        assert sys.getswitchinterval() == pytest.approx(giving_way._SWITCH_SECONDS)
        second.close()
        assert sys.getswitchinterval() == pytest.approx(usual)


def test_a_failure_leaves_it_too() -> None:
    usual = sys.getswitchinterval()
    with pytest.raises(ValueError, match="failed"), GIVING_WAY:
        raise ValueError("failed")
    assert sys.getswitchinterval() == pytest.approx(usual)
