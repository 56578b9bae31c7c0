"""The sets `context`, `skill` and `agents` through real clients: stdio and HTTP, in both protocol versions."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from tests.conftest import SkillWriter
from tests.server.connections import WAYS, Caller, caller, listening, modes, reached, two_ways, ways

from skillhub_mcp.policy.tool_actions import SESSION_TOOLS

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def project(project: Path, write_skill: SkillWriter) -> Path:
    """A project with two skills, AGENTS.md at its root and below, and one skill of the hub."""
    skills = project / ".agents" / "skills"
    write_skill("repo-review", "Review PR with risk-first checklist", root=skills, files={"scripts/run.sh": "ls"})
    write_skill("release-notes", "Draft release <notes> & more from commits", root=skills)
    write_skill(
        "pdf", "PDFファイルを処理。", body="# PDF処理スキル\n\npdftotext input.pdf -\n", files={"references/a.md": "A"}
    )
    (project / "AGENTS.md").write_text("Use tabs.\n", encoding="utf-8")
    (project / "feature").mkdir()
    (project / "feature" / "AGENTS.md").write_text("Use spaces in here.\n", encoding="utf-8")
    return project


@pytest.fixture
def environment(hub_environment: dict[str, str], project: Path) -> dict[str, str]:
    return {
        **hub_environment,
        "SKILLHUB_TOOLS": "all",
        "SKILLHUB_CWD": str(project),
        "SKILLHUB_EXPOSE_PATHS": "1",
    }


def touch(path: Path, text: str, *, later: int) -> None:
    """Write a file with a different mtime at any clock resolution."""
    moment = path.stat().st_mtime_ns + later * 1_000_000_000
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(moment, moment))


@ways
@pytest.mark.acceptance("S0-57", "S0-58", "S0-59", "S0-61", "S0-78")
async def test_a_skill_is_sent_once_a_session_unless_changed_or_forced(hub: Caller, project: Path) -> None:
    path = project / ".agents" / "skills" / "repo-review" / "SKILL.md"

    before = await hub.look()
    first = await hub.call("skill_load", name="repo-review")
    assert first.text.startswith('<skill_context name="repo-review"')
    assert "Do it." in first.text

    again = await hub.call("skill_load", path=str(path))
    assert "Do it." not in again.text
    assert "'repo-review'" in again.text
    assert str(path) in again.text
    assert again.meta["io.skillhub/skill"]["already_loaded"] is True
    assert again.meta["io.skillhub/skill"]["skill_id"] == first.meta["io.skillhub/skill"]["skill_id"]
    assert (await hub.call("skill_load", name="repo-review", force=True)).text == first.text

    touch(path, path.read_text(encoding="utf-8").replace("Do it.", "Do it well."), later=5)
    assert "Do it well." in (await hub.call("skill_load", name="repo-review")).text
    assert "Do it well." not in (await hub.call("skill_load", name="repo-review")).text

    await hub.call("load_skill", skill_name="pdf")
    seen = (await hub.call("context_inspect")).json
    assert seen["skills"]["catalogue"]["names"] == ["release-notes", "repo-review"]
    assert not seen["skills"]["catalogue"]["truncated"]
    loaded = {one["name"]: one for one in seen["skills"]["loaded"]}
    assert loaded["repo-review"]["times"] == 3
    assert loaded["repo-review"]["mtimeMs"] == path.stat().st_mtime_ns / 1_000_000
    assert seen["cost"]["skill"] >= loaded["repo-review"]["tokens"] > 0
    assert seen["cost"]["total"] == sum(seen["cost"][layer] for layer in ("catalogue", "skill", "file", "agents"))
    assert "skills" not in (await hub.call("context_inspect", include_skills=False)).json
    assert "agents" not in (await hub.call("context_inspect", include_agents=False)).json
    # Loading skills does not change the first answer.
    assert await hub.look() == before


@modes
@pytest.mark.acceptance("S0-60", "S1-25")
async def test_two_clients_over_http_never_see_each_others_session(
    mode: str, environment: dict[str, str], project: Path
) -> None:
    with listening(environment) as url:
        async with caller(url, mode) as one, caller(url, mode) as other:
            assert "Do it." in (await one.call("skill_load", name="repo-review")).text
            await one.call("agents_context")
            assert "Do it." in (await other.call("skill_load", name="repo-review")).text
            assert "Do it." not in (await one.call("skill_load", name="repo-review")).text
            assert (await one.call("agents_resolve", path="feature/x.py")).structured["files"] != []
            assert (await one.call("agents_resolve", path="feature/x.py")).structured["files"] == []
            found = (await other.call("agents_resolve", path="feature/x.py")).structured["files"]
            assert len(found) == 2
            loaded = (await other.call("context_inspect")).json["skills"]["loaded"]
            assert [one["times"] for one in loaded] == [1]
            if mode == "auto":
                assert one.handle != other.handle
                # An unknown handle starts a new session.
                other.handle = "guessed"
                assert "Do it." in (await other.call("skill_load", name="repo-review")).text
                assert other.handle not in ("guessed", one.handle)
        async with caller(url, mode) as third:
            assert "Do it." in (await third.call("skill_load", name="repo-review")).text


@ways
@pytest.mark.acceptance("S4-3", "S4-4", "S4-7", "S4-8", "S4-9", "S4-10", "S4-11", "S4-12", "S4-13", "S4-14", "S4-15")
async def test_the_skill_tool_returns_the_instructions_and_the_files(
    way: tuple[str, str], environment: dict[str, str], skills_dir: Path
) -> None:
    async with reached(way, {**environment, "SKILLHUB_TOOLS": "skill"}) as hub:
        (tool,) = await hub.look()
        assert tool.name == "Skill"
        assert tool.input_schema["required"] == ["skill"]
        assert tool.input_schema["properties"]["skill"]["type"] == "string"
        assert "expert knowledge" in (tool.description or "")
        instructions = hub.client.instructions or ""
        assert "- pdf: PDFファイルを処理。" in instructions.splitlines()

        said = await hub.call("Skill", skill="pdf")
        body = "# PDF処理スキル\n\npdftotext input.pdf -"
        files = f"Files of this skill (below {skills_dir / 'pdf'}): references/a.md"
        assert said.text == (
            f'<skill-loaded name="pdf">\n# Skill: pdf\n\n{body}\n\n{files}\n</skill-loaded>\n\n'
            "Follow the instructions of the skill above."
        )
        assert (await hub.call("Skill", skill="/pdf")).text == said.text
        missing = await hub.call("Skill", skill="pfd")
        assert missing.code == "SKILL_NOT_FOUND"
        assert "pdf" in missing.text

        touch(skills_dir / "pdf" / "SKILL.md", "---\nname: pdf\ndescription: d\n---\nNew way.\n", later=5)
        assert "New way." in (await hub.call("Skill", skill="pdf")).text
        assert await hub.look() == [tool]
        assert hub.client.instructions == instructions


@two_ways
@pytest.mark.acceptance("S4-4", "S4-11")
async def test_a_user_calls_a_skill_by_a_prompt_with_completion(
    way: tuple[str, str], environment: dict[str, str], write_skill: SkillWriter
) -> None:
    write_skill("fix-issue", "Fixes one.", body="Fix issue $ARGUMENTS now.\n", extra="argument-hint: '[number]'")
    write_skill("for-models", "Not for people.", extra="user-invocable: false")

    async with reached(way, environment) as hub:
        prompts = {prompt.name: prompt for prompt in (await hub.client.list_prompts()).prompts}
        assert {"pdf", "fix-issue", "skill", "session_context"} <= prompts.keys()
        assert "for-models" not in prompts
        (argument,) = prompts["fix-issue"].arguments or []
        assert (argument.name, argument.description, argument.required) == ("arguments", "[number]", False)

        assert "Fix issue 12 now." in await hub.prompt("fix-issue", arguments="12")
        text = await hub.prompt("pdf", arguments="input.pdf を読んで")
        # Equal to the answer of the tool, with the files and their paths.
        loaded = (await hub.call("Skill", skill="pdf")).text
        assert "references/a.md\n</skill-loaded>" in loaded
        assert text == f"{loaded}\n\nARGUMENTS: input.pdf を読んで"
        assert "Fix issue 7 now." in await hub.prompt("skill", name="/fix-issue", arguments="7")
        assert "SKILL_NOT_FOUND" in await hub.prompt_error("skill", name="fix-isue")
        reference = mcp_types.PromptReference(name="skill")
        found = await hub.client.complete(reference, {"name": "name", "value": ""})
        assert found.completion.values == ["fix-issue", "pdf"]


@ways
@pytest.mark.acceptance("S1-11", "S1-15", "S1-16", "S1-19", "S1-20", "S1-22", "S1-23", "S1-28", "S1-29", "S1-32")
@pytest.mark.acceptance("S1-33", "S1-37", "S1-38", "S1-39")
async def test_agents_md_files_are_sent_once_as_their_paths_come_up(hub: Caller, project: Path) -> None:
    for rule in ("once", "agents_resolve only before", "yourself", "twice", "session.resume.diff"):
        assert rule in (hub.client.instructions or "")
    first = await hub.call("agents_context")
    root = project
    assert first.text == (
        f'<agents_context scope="initial">\nInstructions from: {root}/AGENTS.md\nUse tabs.\n</agents_context>'
    )
    assert [file["path"] for file in first.meta["io.skillhub/agents"]["files"]] == [f"{root}/AGENTS.md"]
    saved = first.meta["io.skillhub/agents"]["state"]

    below = root / "feature" / "AGENTS.md"
    found = await hub.call("agents_resolve", path="feature/new/file.py")
    (file,) = found.structured["files"]
    moment, size = below.stat().st_mtime_ns // 1_000_000, below.stat().st_size
    assert file == {"path": str(below), "mtimeMs": moment, "sizeBytes": size}
    assert found.text == (
        '<system-reminder type="agents.resolve.paths">\n'
        "Additional AGENTS.md may apply for this path:\n"
        f"- {below} (mtime: {file['mtimeMs']})\n"
        "Read and apply these files before editing files in this scope.\n</system-reminder>"
    )
    again = await hub.call("agents_resolve", path=str(root / "feature"))
    assert again.structured == {"files": []}
    assert "system-reminder" not in again.text
    assert "spaces" not in found.text

    touch(below, "Use tabs in here too.\n", later=5)
    touch(project / "AGENTS.md", "Use tabs, always.\n", later=5)
    changed = (await hub.call("agents_resolve", path="feature/x")).structured["files"]
    assert [file["path"] for file in changed] == [f"{root}/AGENTS.md", str(below)]
    assert (await hub.call("agents_context")).text == first.text

    reminder = (await hub.call("agents_resume_diff", saved_state=saved)).text
    assert reminder.startswith('<system-reminder type="session.resume.diff">')
    assert f"- {root}/AGENTS.md (mtime: " in reminder
    bad = await hub.call("agents_resume_diff", saved_state={"cwd": 1})
    assert bad.text.startswith("INVALID_ARGUMENT: saved_state is not a saved state: cwd: ")


@two_ways
@pytest.mark.acceptance("S0-37", "S0-38", "S0-39", "S0-40", "S0-44", "S0-45", "S1-16", "S1-41")
async def test_a_session_starts_with_agents_md_and_the_catalogue(
    way: tuple[str, str], environment: dict[str, str], project: Path
) -> None:
    # Only trusted skills are listed.
    trusting = {**environment, "SKILLHUB_TRUST": "all"}

    async with reached(way, trusting) as hub:
        text = await hub.prompt("session_context")
        agents, skills = text.index("<agents_context"), text.index("<skills_context>")
        assert agents < skills
        assert "call" not in text[agents:skills]
        assert "load the skill with skill_load" in text
        assert "skill_search" in text
        assert "Draft release &lt;notes&gt; &amp; more from commits" in text
        assert "Do it." not in text
        assert text.count("<skill>") == 2
        assert await hub.prompt("session_context") == text


@modes
def test_over_http_server_paths_are_shown_only_by_choice(mode: str, environment: dict[str, str], project: Path) -> None:
    async def journey() -> list[Any]:
        async with reached(("http", mode), {**environment, "SKILLHUB_EXPOSE_PATHS": "0"}) as hub:
            said = [
                await hub.call("skill_load", name="repo-review"),
                await hub.call("skill_load", name="repo-review"),
                await hub.call("Skill", skill="pdf"),
                await hub.call("agents_context"),
                await hub.call("agents_resolve", path="feature/x"),
                await hub.call("agents_resume_diff", saved_state={"cwd": ".", "root": ".", "markers": []}),
                await hub.call("context_inspect"),
                await hub.call("agents_context", cwd=str(project)),
                await hub.call("agents_resolve", path="/etc/hosts"),
            ]
            assert [one.code for one in said[-2:]] == ["INVALID_ARGUMENT"] * 2
            assert all("/etc" not in one.text for one in said)
            assert "Instructions from: AGENTS.md" in said[3].text
            assert [file["path"] for file in said[4].structured["files"]] == ["feature/AGENTS.md"]
            prompts = [await hub.prompt(name) for name in ("session_context", "pdf")]
            return [*((one.texts, one.structured, one.meta) for one in said[:-2]), prompts, hub.client.instructions]

    for answer in asyncio.run(journey()):
        assert str(project.parent) not in repr(answer)


def test_only_clients_that_need_it_see_the_session_argument(environment: dict[str, str]) -> None:
    async def shown(way: tuple[str, str]) -> list[str]:
        async with reached(way, environment) as hub:
            return [tool.name for tool in await hub.look() if tool.name in hub.takes_handle]

    assert set(asyncio.run(shown(("http", "auto")))) == {*SESSION_TOOLS} - {"run_skill_command", "agents_read"}
    for way in WAYS:
        if way != ("http", "auto"):
            assert asyncio.run(shown(way)) == []


@two_ways
@pytest.mark.acceptance("S0-27", "S0-33", "S0-34", "S0-36")
async def test_skill_search_returns_scoped_hits_up_to_its_limit(hub: Caller) -> None:
    async def search(query: str, **arguments: Any) -> dict[str, Any]:
        said = await hub.call("skill_search", query=query, **arguments)
        assert said.structured == said.json
        return dict(said.json)

    found = await search("review release", limit=1)
    assert found["skills"][0].keys() >= {"name", "description", "path", "scope", "reason", "score"}
    assert (len(found["skills"]), found["count"], found["truncated"]) == (1, 2, True)
    assert await search("release", scope="user") == {"skills": [], "count": 0, "truncated": False}
    for arguments in ({"limit": 0}, {"limit": -1}, {"scope": "system"}, {"query": "  "}):
        said = await hub.call("skill_search", **{"query": "release", **arguments})
        assert said.code == "INVALID_ARGUMENT"
