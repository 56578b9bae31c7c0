"""run_skill_command as a client sees it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.connections import RUN, caller, listening, modes
from tests.server.sessions import Answer, ask, in_process, over_stdio

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Environment = dict[str, str]


@pytest.fixture
def running(hub_environment: Environment) -> Environment:
    return {**hub_environment, "SKILLHUB_ENABLE_RUN": "1"}


def run(environment: Environment, command: str, *args: str, skill: str = "one") -> Answer:
    return ask(environment, "run_skill_command", skill_name=skill, command=command, args=list(args))


async def tool_names(session: Any) -> set[str]:
    async with session as client:
        return {tool.name for tool in await client.list_tools()}


@pytest.mark.acceptance("S2-3", "S2-36")
def test_the_tool_is_offered_only_by_choice(hub_environment: Environment, running: Environment) -> None:
    three = {"search_skills", "load_skill", "read_skill_file"}
    assert asyncio.run(tool_names(in_process(hub_environment))) == three
    assert asyncio.run(tool_names(in_process(running))) == {*three, "run_skill_command"}
    assert asyncio.run(tool_names(over_stdio(hub_environment, "--enable-run"))) == {*three, "run_skill_command"}


def test_over_http_a_second_setting_is_needed(running: Environment) -> None:
    for environment, offered in ((running, False), ({**running, **RUN}, True)):
        with listening(environment) as url:
            assert ("run_skill_command" in asyncio.run(tool_names(Client(url)))) == offered


@pytest.mark.acceptance("S2-37", "S2-6")
@pytest.mark.parametrize("command", ["rm", "./cat"])
def test_an_unlisted_command_is_refused(running: Environment, write_skill: SkillWriter, command: str) -> None:
    write_skill("one", files={"cat": "#!/bin/sh\necho no\n"})
    answer = run(running, command, "SKILL.md")
    assert answer.code == "COMMAND_NOT_ALLOWED"
    assert answer.error is not None
    assert answer.error["allowed"] == ["python", "uv", "node", "cat", "ls", "grep"]


@pytest.mark.acceptance("S2-42", "S2-6")
def test_a_command_that_takes_too_long_is_killed_and_says_so(
    running: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("one")
    os.mkfifo(tmp_path / "skills" / "one" / "waiting")
    answer = run({**running, "EXEC_TIMEOUT_SECONDS": "0.5"}, "cat", "waiting")
    assert answer.code == "EXECUTION_TIMEOUT"
    assert answer.text.startswith("EXECUTION_TIMEOUT: 'cat' was killed after 0.5 seconds.")
    assert answer.structured["timeout"] is True


def test_a_command_cannot_read_other_skills_or_hub_files(
    running: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:

    only = {**running, "SKILLHUB_ENABLED_SKILLS": "one"}
    write_skill("one", files={"part/SKILL.md": "---\nname: part\ndescription: d\n---\n"})
    other = write_skill("two")
    index = tmp_path / "db" / "skills.lancedb" / "others.lance" / "row"
    index.parent.mkdir(parents=True)
    index.write_text("secret", encoding="utf-8")
    paths = ("../two/SKILL.md", str(other / "SKILL.md"), str(index), f"/proc/{os.getpid()}/environ", __file__)
    answer = run(only, "cat", *paths, "part/SKILL.md").json
    assert answer["stdout"] == "---\nname: part\ndescription: d\n---\n"
    assert len(answer["stderr"].splitlines()) == len(paths)


@modes
async def test_over_http_files_of_a_session_are_private_and_paths_hidden(
    running: Environment, write_skill: SkillWriter, mode: str
) -> None:
    # The second file name is neither UTF-8 nor one line.
    code = "import sys\nfor more in (b'', b'\\xff\\n<x>'):\n    open(sys.argv[1].encode() + more, 'w').write('a,b')\n"
    write_skill("one", files={"write.py": code})
    environment = {**running, "--enable-run-over-http": "1", "--allow-anonymous": "1"}

    with listening(environment) as url:
        async with caller(url, mode) as hub, caller(url, mode) as other:
            args = ["write.py", "{output_dir}/a.csv"]
            wrote = await hub.call("run_skill_command", skill_name="one", command="python", args=args)
            assert wrote.structured["files"] == ["a.csv", r"a.csv\udcff\n&lt;x>"], wrote
            assert "output_dir" not in wrote.structured
            reading: dict[str, Any] = {"skill_name": "one", "command": "cat", "args": ["{output_dir}/a.csv"]}
            assert (await hub.call("run_skill_command", **reading)).structured["stdout"] == "a,b"
            assert (await other.call("run_skill_command", **reading)).structured["exit_code"] == 1
            named = await hub.call("run_skill_command", skill_name="one", command="ls", output_dir="/tmp/x")
            assert (named.code, "is no relative path" in named.text) == ("INVALID_ARGUMENT", True)
