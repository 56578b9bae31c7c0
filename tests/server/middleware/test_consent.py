"""Rules, choices and hooks apply to every way to a skill's text, through real clients in both protocols."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError
from tests.conftest import SkillWriter
from tests.server.connections import Caller, Person, caller, listening, modes, reached, two_ways, ways
from tests.server.sessions import Answer, command
from tests.server.skills_client import ask, code_of, listed, read, refused, tool_lists, tool_uses

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def environment(trusting: dict[str, str], project: Path, write_skill: SkillWriter) -> dict[str, str]:
    """Two skills in the project's `.agents/skills`."""
    for name in ("alpha", "beta"):
        place = project / ".agents" / "skills"
        write_skill(name, f"Does {name}.", body=f"The body of {name}.\n", root=place, files={"a.txt": "A"})
    return {**trusting, "SKILLHUB_EXPOSE_PATHS": "1"}


def rules(environment: dict[str, str], **lists: list[dict[str, str]]) -> None:
    file = Path(environment["HOME"], ".skillhub/permissions.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"permissions": lists}), encoding="utf-8")


def written_rules(environment: dict[str, str]) -> Any:
    return json.loads(Path(environment["HOME"], ".skillhub/permissions.json").read_text(encoding="utf-8"))


def about(name: str | None = None, tool: str = "skill_load") -> dict[str, str]:
    return {"tool": tool} | ({} if name is None else {"skill_name": name})


async def reads(hub: Caller, name: str) -> set[str | None]:
    """Read a skill's files as resources and return the outcome."""
    return {await code_of(read(hub, f"skill://project/{name}/{file}")) for file in ("SKILL.md", "a.txt")}


async def is_listed(hub: Caller, name: str) -> set[bool]:
    """Return whether hosts that read skills natively can list and find a skill."""
    base = f"skill://project/{name}"
    resources = (await ask(hub, "resources/list"))["resources"]
    found = {f"{base}/SKILL.md" in await listed(hub), f"{base}/SKILL.md" in [one["uri"] for one in resources]}
    for method, uri in (("skills/get", f"{base}/SKILL.md"), ("resources/directory/read", base)):
        code = await code_of(ask(hub, method, uri=uri))
        assert code in (None, "RESOURCE_NOT_FOUND")
        found.add(code is None)
    return found


def codes(said: dict[str, Answer]) -> set[str | None]:
    return {one.code for one in said.values()}


@ways
@pytest.mark.acceptance("S0-62", "S0-63", "S0-64")
async def test_a_denied_skill_cannot_be_used_or_listed(way: tuple[str, str], environment: dict[str, str]) -> None:
    rules(environment, deny=[about("beta")], allow=[about(), about("beta"), about(tool="run_skill_command")])

    async with reached(way, environment) as hub:
        assert codes(await tool_uses(hub, "alpha")) == {None}
        assert codes(await tool_uses(hub, "beta")) == {"PERMISSION_DENIED"}
        assert (await reads(hub, "alpha"), await is_listed(hub, "alpha")) == ({None}, {True})
        # By URI it looks missing.
        assert (await reads(hub, "beta"), await is_listed(hub, "beta")) == ({"RESOURCE_NOT_FOUND"}, {False})
        assert "PERMISSION_DENIED" in await hub.prompt_error("skill", name="beta")
        assert "beta" not in [prompt.name for prompt in (await hub.client.list_prompts()).prompts]
        for name, text in (await tool_lists(hub, "does beta")).items():
            assert "Does beta" not in text, name
        assert "- beta" not in (hub.client.instructions or "")


@two_ways
@pytest.mark.acceptance("S0-65", "S0-66")
async def test_an_undecided_skill_is_asked_about_once(way: tuple[str, str], environment: dict[str, str]) -> None:
    rules(environment, allow=[about("beta")])
    person = Person("once")

    async with reached(way, environment, elicitation_callback=person) as hub:
        assert "The body of beta." in (await hub.call("load_skill", skill_name="beta")).text
        assert person.questions == []
        first = await hub.call("skill_load", name="alpha")
        assert "The body of alpha." in first.text
        assert person.questions == ["The agent wants to load the skill 'alpha'. Its description: 'Does alpha.'"]
        # The answer covers the session, including the skill's files.
        await hub.call("skill_load", name="alpha", force=True)
        assert len(person.questions) == 1
        assert (await hub.call("read_skill_file", skill_name="alpha", file_path="a.txt")).code is None
        assert len(person.questions) == 1
        # Running needs its own consent.
        for _ in range(2):
            assert (await hub.call("run_skill_command", skill_name="alpha", command="ls")).code is None
            assert person.questions[1:] == [
                "The agent wants to run commands of the skill 'alpha'. Its description: 'Does alpha.'"
            ]
        text = await hub.prompt("alpha")
        assert "The body of alpha." in text
    written = written_rules(environment)
    assert written == {"permissions": {"allow": [about("beta")]}}


async def test_a_failed_call_names_the_session_of_the_users_consent(environment: dict[str, str]) -> None:
    rules(environment)
    person = Person("once")

    async with reached(("http", "auto"), environment, elicitation_callback=person) as hub:
        failed = await hub.call("read_skill_file", skill_name="alpha", file_path="none.txt")
        (handle,) = re.findall(r"session: (\S+) ", failed.text)
        assert (await hub.call("read_skill_file", skill_name="alpha", file_path="a.txt", session=handle)).code is None
    assert len(person.questions) == 1


@two_ways
@pytest.mark.acceptance("S0-65")
async def test_a_users_refusal_is_final(way: tuple[str, str], environment: dict[str, str]) -> None:
    rules(environment)
    for answer in ("no", None):
        async with reached(way, environment, elicitation_callback=Person(answer)) as hub:
            said = await hub.call("load_skill", skill_name="alpha")
            assert said.code == "PERMISSION_DENIED"
            assert "The user did not consent" in said.text
            assert "body of alpha" not in said.text
            assert await reads(hub, "alpha") == {"PERMISSION_DENIED"}


@two_ways
@pytest.mark.acceptance("S0-65")
async def test_a_client_that_cannot_ask_gets_the_granting_command(
    way: tuple[str, str], environment: dict[str, str]
) -> None:
    rules(environment, deny=[about("beta")])

    async with reached(way, environment) as hub:
        for name, said in (await tool_uses(hub, "alpha")).items():
            assert said.code == "CONFIRMATION_REQUIRED", name
        assert await reads(hub, "alpha") == {"CONFIRMATION_REQUIRED"}
        said = await hub.call("load_skill", skill_name="alpha")
        assert "skillhub allow alpha" in said.text
        # The suggested line grants it without a restart.
        command(environment, "allow", "alpha")
        assert (await hub.call("load_skill", skill_name="alpha")).code is None


@modes
@pytest.mark.acceptance("S0-66")
async def test_a_remembered_answer_becomes_a_rule(mode: str, environment: dict[str, str]) -> None:
    rules(environment, deny=[about("beta")])
    person, later = Person("always"), Person(None)
    async with reached(("stdio", mode), environment, elicitation_callback=person) as hub:
        assert (await hub.call("skill_load", name="alpha")).code is None
    assert person.offered == ["once", "always", "no"]
    assert written_rules(environment) == {
        "permissions": {
            "deny": [about("beta")],
            "allow": [{"tool": "skill_load", "skill_name": "alpha"}],
            "others": "confirm",
        }
    }
    async with reached(("stdio", mode), environment, elicitation_callback=later) as hub:
        assert (await hub.call("skill_load", name="alpha")).code is None
    assert later.questions == []


def question_of(result: Any) -> tuple[str, str]:
    """Return the state and the message of a question."""
    assert isinstance(result, mcp_types.InputRequiredResult), result
    (asked,) = (result.input_requests or {}).values()
    assert isinstance(asked, mcp_types.ElicitRequest)
    return result.request_state or "", asked.params.message


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_reply_is_valid_only_for_its_own_question(
    transport: str, environment: dict[str, str], write_skill: SkillWriter
) -> None:
    rules(environment)
    replies: Any = {
        "skillhub-permission": mcp_types.ElicitResult(action="accept", content={"answer": "once"}),
    }

    async def journey() -> None:
        async with reached((transport, "auto"), environment, elicitation_callback=Person(None)) as hub:

            async def tell(tool: str, state: str | None, replies: Any = replies, **arguments: str) -> Any:
                return await hub.client.session.call_tool(
                    tool, arguments, input_responses=replies, request_state=state, allow_input_required=True
                )

            state, message = question_of(await tell("load_skill", None, None, skill_name="alpha"))
            assert message.startswith("The agent wants to load the skill 'alpha'.")
            # A well-formed reply without its question is ignored.
            assert question_of(await tell("load_skill", None, skill_name="alpha"))[1] == message
            for tool, arguments in (
                ("load_skill", {"skill_name": "beta"}),
                ("run_skill_command", {"skill_name": "alpha", "command": "ls"}),
                ("read_skill_file", {"skill_name": "alpha", "file_path": "a.txt"}),
            ):
                with pytest.raises(MCPError, match="requestState"):
                    await tell(tool, state, **arguments)
                question_of(await tell(tool, None, None, **arguments))
            # The same call concerns another skill if the name has changed hands.
            project = Path(environment["SKILLHUB_CWD"])
            (project / ".agents" / "skills" / "alpha").rename(project / "old")
            write_skill("alpha", "Steals.", body="The body of the thief.", root=project / ".agent" / "skills")
            assert (await hub.call("build_index")).code is None
            assert "'Steals.'" in question_of(await tell("load_skill", state, skill_name="alpha"))[1]

    asyncio.run(journey())


@modes
async def test_over_http_an_answer_is_one_clients_and_is_never_kept(mode: str, environment: dict[str, str]) -> None:
    rules(environment)
    before = written_rules(environment)
    asked, silent, forged = Person("once"), Person(None), Person("always")
    with listening(environment) as url:
        async with (
            caller(url, mode, elicitation_callback=asked) as one,
            caller(url, mode, elicitation_callback=silent) as other,
            caller(url, mode, elicitation_callback=forged) as third,
        ):
            assert (await one.call("load_skill", skill_name="alpha")).code is None
            assert asked.offered == ["once", "no"]
            assert (await other.call("load_skill", skill_name="alpha")).code == "PERMISSION_DENIED"
            # A forged answer grants nothing.
            assert (await third.call("load_skill", skill_name="alpha")).code == "PERMISSION_DENIED"
    assert written_rules(environment) == before


@two_ways
@pytest.mark.acceptance("S0-67")
async def test_invalid_rules_block_everything_and_are_named(way: tuple[str, str], environment: dict[str, str]) -> None:
    rules(environment, deny=[about("Beta")], allow=[about()])

    async with reached(way, environment) as hub:
        for said in (await tool_uses(hub, "alpha")).values():
            assert said.code == "POLICY_UNREADABLE"
            assert "skill_name must be one exact name" in said.text
        assert "- alpha" not in (hub.client.instructions or "")
        assert await reads(hub, "alpha") == {"POLICY_UNREADABLE"}
        assert (await refused(hub, "skills/list")).code == "POLICY_UNREADABLE"
        assert (await ask(hub, "resources/list"))["resources"] == []
        # Fixed while the server runs.
        rules(environment, deny=[about("beta")], allow=[about()])
        assert (await hub.call("load_skill", skill_name="alpha")).code is None


@two_ways
@pytest.mark.acceptance("S0-82", "S0-85")
async def test_a_disabled_skill_is_not_found_or_loaded_until_enabled(
    way: tuple[str, str], environment: dict[str, str]
) -> None:

    async with reached(way, environment) as hub:
        assert codes(await tool_uses(hub, "alpha")) == {None}
        command(environment, "disable", "alpha")
        said = await tool_uses(hub, "alpha")
        assert codes(said) == {"SKILL_DISABLED"}
        assert (await reads(hub, "alpha"), await is_listed(hub, "alpha")) == ({"RESOURCE_NOT_FOUND"}, {False})
        assert "skillhub enable" in said["load_skill"].text
        assert "SKILL_DISABLED" in await hub.prompt_error("skill", name="alpha")
        for name, text in (await tool_lists(hub, "does alpha")).items():
            assert "Does alpha" not in text, name
    # The answer is kept after a restart.
    async with reached(way, environment) as hub:
        assert (await hub.call("load_skill", skill_name="alpha")).code == "SKILL_DISABLED"
        command(environment, "enable", "alpha")
        assert codes(await tool_uses(hub, "alpha")) == {None}
        assert (await reads(hub, "alpha"), await is_listed(hub, "alpha")) == ({None}, {True})


@two_ways
async def test_changed_files_of_a_skill_need_new_consent(way: tuple[str, str], environment: dict[str, str]) -> None:
    rules(environment)
    person = Person("once")
    script = Path(environment["SKILLHUB_CWD"], ".agents", "skills", "alpha", "a.txt")

    async with reached(way, environment, elicitation_callback=person) as hub:
        for text in ("A", "B"):
            await asyncio.to_thread(script.write_text, text)
            for _ in range(2):
                said = await hub.call("run_skill_command", skill_name="alpha", command="cat", args=["a.txt"])
                assert said.structured["stdout"] == text
    assert len(person.questions) == 2
