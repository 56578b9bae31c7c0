"""Each call reads the policy files and resolves the skill once."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.server.sessions import call, in_process

from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.index.live import LiveView
from skillhub_mcp.policy.files import PolicyFile

pytestmark = pytest.mark.anyio

CALLS: dict[str, dict[str, object]] = {
    "load_skill": {"skill_name": "walrus"},
    "read_skill_file": {"skill_name": "walrus", "file_path": "notes.md"},
    "search_skills": {"query": "feed the walrus"},
}


def is_of_the_call() -> bool:
    """Return whether this runs for a client's call, not the watcher or notifications."""
    watches = any(frame.filename.endswith("notifications.py") for frame in traceback.extract_stack())
    return not watches and not threading.current_thread().name.startswith("skillhub-")


@pytest.mark.parametrize("tool", CALLS)
async def test_each_call_reads_the_policy_and_resolves_its_skill_once(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    write_skill("walrus", "Feeds the walrus.", files={"notes.md": "Fish."})
    asked: Counter[tuple[str, int]] = Counter()

    def counted(owner: type, name: str) -> None:
        real: Callable[..., Any] = getattr(owner, name)

        def count(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_of_the_call():
                asked[f"{owner.__name__}.{name}", id(self)] += 1
            return real(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, count)

    async with in_process(hub_environment) as client:
        await call(client, tool, **CALLS[tool])
        counted(PolicyFile, "read")
        counted(LiveView, "view")
        counted(SkillLookup, "_find")
        another = {"query": "walrus, feed it"} if tool == "search_skills" else CALLS[tool]
        assert (await call(client, tool, **another)).error is None
    assert asked
    assert {what: times for what, times in asked.items() if times > 1} == {}


@pytest.mark.parametrize("surface", ["prompt", "resource", "python"])
def test_a_load_reads_each_policy_file_once_on_every_surface(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, surface: str
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    reads: Counter[int] = Counter()
    real = PolicyFile.read

    def read(self: PolicyFile[Any]) -> Any:
        if is_of_the_call():
            reads[id(self)] += 1
        return real(self)

    async def over_mcp() -> None:
        async with in_process({**hub_environment, "SKILLHUB_TOOLS": "core,skill"}) as client:

            async def load() -> object:
                if surface == "prompt":
                    return await client.get_prompt("walrus")
                return await client.read_resource("skill://hub/walrus/SKILL.md")

            await load()
            monkeypatch.setattr(PolicyFile, "read", read)
            await load()

    if surface == "python":
        with hub_of(hub_environment) as hub:
            hub.load("walrus")
            monkeypatch.setattr(PolicyFile, "read", read)
            hub.load("walrus")
    else:
        asyncio.run(over_mcp())
    assert set(reads.values()) == {1}
