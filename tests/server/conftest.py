"""Async tests, and a client by each way."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.server.connections import Caller, reached


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def hub(way: tuple[str, str], environment: dict[str, str]) -> AsyncIterator[Caller]:
    """A client of a server with the `environment` of the module, by the `way` of the test."""
    async with reached(way, environment) as client:
        yield client
