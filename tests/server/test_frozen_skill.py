"""With SKILLHUB_FROZEN, no client can use a skill that differs from its lock."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.locks.locked import lock
from tests.server.connections import RUN, WAYS, Caller
from tests.server.skills_client import ask, code_of, listed, read

from skillhub_mcp.server.tools.results import LOCK_META_KEY

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def project(tmp_path: Path, write_skill: SkillWriter) -> Path:
    """A project with two locked skills."""
    project = tmp_path.resolve() / "repo"
    (project / ".git").mkdir(parents=True)
    for name in ("alpha", "beta"):
        place = project / ".agents" / "skills"
        skill = write_skill(name, f"Does {name}.", body=f"The body of {name}.\n", root=place, files={"a.txt": "A"})
        lock(skill, at=project / "skills-lock.json")
    return project


@pytest.fixture
def environment(hub_environment: dict[str, str], project: Path) -> dict[str, str]:
    return {
        **hub_environment,
        "SKILLHUB_FROZEN": "1",
        "SKILLHUB_ROOTS": "project,hub",
        "SKILLHUB_TRUST": "all",
        "SKILLHUB_TOOLS": "all",
        "SKILLHUB_CWD": str(project),
        **RUN,
    }


async def had(hub: Caller, name: str) -> dict[str, str | None]:
    """Request a skill in every way, and return each error code."""
    base = f"skill://project/{name}"
    calls = {
        "load_skill": await hub.call("load_skill", skill_name=name),
        "skill_load": await hub.call("skill_load", name=name, force=True),
        "Skill": await hub.call("Skill", skill=name),
        "read_skill_file": await hub.call("read_skill_file", skill_name=name, file_path="a.txt"),
        "run_skill_command": await hub.call("run_skill_command", skill_name=name, command="ls"),
    }
    return {
        **{way: said.code for way, said in calls.items()},
        "resource SKILL.md": await code_of(read(hub, f"{base}/SKILL.md")),
        "resource a.txt": await code_of(read(hub, f"{base}/a.txt")),
        "skills/get": await code_of(ask(hub, "skills/get", uri=f"{base}/SKILL.md")),
    }


async def every_list(hub: Caller) -> str:
    """Return the output of all lists and searches."""
    calls = [
        await hub.call("search_skills", query="does beta"),
        await hub.call("skill_search", query="beta"),
        await hub.call("skills_list"),
        await hub.call("available_skills"),
        await hub.call("build_index"),
    ]
    prompts = (await hub.client.list_prompts()).prompts
    return "\n".join([*(said.text for said in calls), *(prompt.name for prompt in prompts), *await listed(hub)])


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
