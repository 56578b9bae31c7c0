"""How often Python looks for garbage: seldom in a command, as usual in a server."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from skillhub_mcp import garbage
from skillhub_mcp.cli.commands.serve import _loading


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    yield
    garbage.collect_as_usual()


def test_a_server_looks_as_often_as_python_does_by_itself() -> None:
    before = gc.get_threshold()
    garbage.collect_seldom()
    assert gc.get_threshold()[0] > before[0] > 0
    with _loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_threshold() == before


def test_looking_goes_on_after_it_was_off_and_stays_off_where_it_was() -> None:
    with garbage.garbage_collection_off():
        assert not gc.isenabled()
        with garbage.garbage_collection_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
