"""Answers while a skills directory is switched, missing and back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import WAYS, Caller, reached

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]
# Limits how long a test can hang.
LONG = 20.0


async def eventually(ask: Callable[[], Awaitable[object]], wanted: object) -> None:
    deadline = time.monotonic() + LONG
    while (answer := await ask()) != wanted:
        assert time.monotonic() < deadline, f"still {answer!r}, not {wanted!r}"
        await asyncio.sleep(0.1)


async def names(client: Caller, query: str) -> list[str]:
    return [skill["name"] for skill in (await client.call("search_skills", query=query)).json["skills"]]


@pytest.mark.parametrize(("way", "leaves"), [(WAYS[0], True), (WAYS[-1], False)], ids=["stdio", "http"])
async def test_a_missing_root_is_named_and_its_skills_are_still_found(
    hub_environment: Environment,
    tmp_path: Path,
    skills_dir: Path,
    write_skill: SkillWriter,
    way: tuple[str, str],
    *,
    leaves: bool,
) -> None:
    for name in ("one", "two"):
        write_skill(name, "About walruses.", body="How to.\n", files={"notes.md": "Notes."})
    write_skill("here", "About walruses, too.", root=tmp_path / "other")
    environment = {**hub_environment, "SKILLS_DIR": f"{skills_dir}{os.pathsep}{tmp_path / 'other'}"}

    def unmount() -> None:
        skills_dir.rename(tmp_path / "away")
        if leaves:
            skills_dir.mkdir()

    def mount() -> None:
        if leaves:
            skills_dir.rmdir()
        (tmp_path / "away").rename(skills_dir)

    why = f"its skills directory 'skills' {'is empty' if leaves else 'is missing'}"

    async with reached(way, environment) as client:

        async def notes() -> str:
            return str((await client.call("search_skills", query="walruses")).json.get("note", ""))

        async def is_explained() -> bool:
            return why in (await client.call("load_skill", skill_name="one")).text

        assert await names(client, "walruses") == ["one", "two", "here"]
        unmount()
        await eventually(notes, "Their skills directory is away, so these cannot be loaded now: one, two.")
        # It may have scanned before the directory was replaced.
        await eventually(is_explained, wanted=True)
        assert sorted(await names(client, "walruses")) == ["here", "one", "two"]
        for tool, arguments in (("load_skill", {}), ("read_skill_file", {"file_path": "notes.md"})):
            refused = await client.call(tool, skill_name="one", **arguments)
            assert refused.code == "ROOT_UNAVAILABLE"
            assert why in refused.text
            assert str(tmp_path) not in refused.text
        assert (await client.call("load_skill", skill_name="here")).code is None
        mount()
        await eventually(notes, "")
        assert "How to." in (await client.call("load_skill", skill_name="one")).text
