"""What clients are told while a skills directory is switched, goes away and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter, switch
from tests.server.connections import WAYS, Caller, reached

Environment = dict[str, str]
# Only bounds how long a test can hang.
LONG = 20.0


async def eventually(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    deadline = time.monotonic() + LONG
    while (answer := await ask()) != wanted:
        assert time.monotonic() < deadline, f"still {answer!r}, not {wanted!r}"
        await asyncio.sleep(0.1)


async def names(client: Caller, query: str) -> list[str]:
    return [skill["name"] for skill in (await client.call("search_skills", query=query)).json["skills"]]


@pytest.mark.parametrize("way", WAYS)
def test_a_switched_root_is_followed_a_second_time_too(
    hub_environment: Environment, tmp_path: Path, write_skill: SkillWriter, way: tuple[str, str]
) -> None:
    for number in range(3):
        description = f"About walruses of revision{number}."
        write_skill("one", description, body=f"Body {number}.\n", root=tmp_path / str(number) / "skills")
    (tmp_path / "current").symlink_to("0")
    environment = {**hub_environment, "SKILLS_DIR": str(tmp_path / "current" / "skills")}

    async def follow() -> None:
        async with reached(way, environment) as client:
            assert await names(client, "revision0") == ["one"]
            for number in (1, 2):
                switch(tmp_path / "current", Path(str(number)))
                await eventually(lambda number=number: names(client, f"revision{number}"), ["one"])  # type: ignore[misc]
                assert await names(client, f"revision{number - 1}") == []
                loaded = await client.call("load_skill", skill_name="one")
                assert f"Body {number}." in loaded.text

    asyncio.run(follow())
