"""Async tests, a server that trusts its project, and a client by each way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.connections import RUN, Caller, reached


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def trusting(hub_environment: dict[str, str], project: Path) -> dict[str, str]:
    """A server with every tool that trusts its project."""
    return {
        **hub_environment,
        "SKILLHUB_ROOTS": "project,hub",
        "SKILLHUB_TRUST": "all",
        "SKILLHUB_TOOLS": "all",
        "SKILLHUB_CWD": str(project),
        **RUN,
    }


@pytest.fixture
async def hub(way: tuple[str, str], environment: dict[str, str]) -> AsyncIterator[Caller]:
    """A client of a server with the `environment` of the module, by the `way` of the test."""
    async with reached(way, environment) as client:
        yield client
