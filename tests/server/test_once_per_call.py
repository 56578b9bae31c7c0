"""Each call reads the policy files and resolves the skill once."""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.sessions import call, in_process

from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.index.live import LiveView
from skillhub_mcp.policy.files import PolicyFile

pytestmark = pytest.mark.anyio

WAYS: dict[str, Callable[[Client[Any], int], Awaitable[object]]] = {
    "load_skill": lambda client, _: call(client, "load_skill", skill_name="walrus"),
    "read_skill_file": lambda client, _: call(client, "read_skill_file", skill_name="walrus", file_path="notes.md"),
    # The search engine caches the answer to an equal query.
    "search_skills": lambda client, turn: call(client, "search_skills", query=f"feed the walrus {turn} times"),
    "prompts/get": lambda client, _: client.get_prompt("walrus"),
    "resources/read": lambda client, _: client.read_resource("skill://hub/walrus/SKILL.md"),
}


def is_of_the_call() -> bool:
    """Return whether this runs for a client's call, not the watcher or notifications."""
    watches = any(frame.filename.endswith("notifications.py") for frame in traceback.extract_stack())
    return not watches and not threading.current_thread().name.startswith("skillhub-")


@pytest.mark.parametrize("way", WAYS)
async def test_each_call_reads_the_policy_and_resolves_its_skill_once(
    hub_environment: dict[str, str], write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch, way: str
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

    async with in_process({**hub_environment, "SKILLHUB_TOOLS": "core,skill"}) as client:
        await WAYS[way](client, 1)
        counted(PolicyFile, "read")
        counted(LiveView, "view")
        counted(SkillLookup, "_find")
        await WAYS[way](client, 2)
    assert asked
    assert {what: times for what, times in asked.items() if times > 1} == {}
