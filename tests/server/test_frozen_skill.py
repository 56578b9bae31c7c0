"""With SKILLHUB_FROZEN, no client can use a skill that differs from its lock."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.locks.locked import lock
from tests.server.connections import WAYS, Caller
from tests.server.skills_client import ask, code_of, listed, read, tool_lists, tool_uses

from skillhub_mcp.server.tools.results import LOCK_META_KEY

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def environment(trusting: dict[str, str], project: Path, write_skill: SkillWriter) -> dict[str, str]:
    """Two locked skills in the project."""
    for name in ("alpha", "beta"):
        place = project / ".agents" / "skills"
        skill = write_skill(name, f"Does {name}.", body=f"The body of {name}.\n", root=place, files={"a.txt": "A"})
        lock(skill, at=project / "skills-lock.json")
    return {**trusting, "SKILLHUB_FROZEN": "1"}


async def had(hub: Caller, name: str) -> dict[str, str | None]:
    """Request a skill in every way, and return each error code."""
    base = f"skill://project/{name}"
    return {
        **{way: said.code for way, said in (await tool_uses(hub, name)).items()},
        "resource SKILL.md": await code_of(read(hub, f"{base}/SKILL.md")),
        "resource a.txt": await code_of(read(hub, f"{base}/a.txt")),
        "skills/get": await code_of(ask(hub, "skills/get", uri=f"{base}/SKILL.md")),
    }


async def every_list(hub: Caller) -> str:
    """Return the output of all lists and searches."""
    texts = (await tool_lists(hub, "does beta")).values()
    prompts = (await hub.client.list_prompts()).prompts
    return "\n".join([*texts, *(prompt.name for prompt in prompts), *await listed(hub)])


@pytest.mark.parametrize("way", [WAYS[0], WAYS[-1]], ids="-".join)
async def test_a_changed_skill_cannot_be_used_until_it_is_fixed(hub: Caller, project: Path) -> None:
    file = project / ".agents" / "skills" / "beta" / "a.txt"

    # Clients cache resources, so they are not read before.
    loaded = await hub.call("load_skill", skill_name="beta")
    assert loaded.code is None
    # Hosts also get the lock state.
    lock_state = loaded.meta[LOCK_META_KEY]
    assert (lock_state["state"], lock_state["source"]) == ("unchanged", "o/r")
    assert lock_state["digest"].startswith("sha256:")
    assert "sha256:" not in loaded.text
    file.write_text("B", encoding="utf-8")
    assert set((await had(hub, "beta")).values()) == {"SKILL_CHANGED"}
    assert "not those that were locked" in (await hub.call("load_skill", skill_name="beta")).text
    assert "SKILL_CHANGED" in await hub.prompt_error("skill", name="beta")
    lists = await every_list(hub)
    assert "Does beta" not in lists
    assert "beta/SKILL.md" not in lists
    assert set((await had(hub, "alpha")).values()) == {None}
    file.write_text("A", encoding="utf-8")
    assert set((await had(hub, "beta")).values()) == {None}
    assert "Does beta" in await every_list(hub)
