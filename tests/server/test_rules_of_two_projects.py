"""Rules of two projects and of their person, for two servers at once: what one answer changes, and what it does not."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from tests.conftest import SkillWriter
from tests.server.connections import reached
from tests.server.sessions import command


class Person:
    """Answers `always`, and remembers which skills were asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, _: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        self.asked.append(params.message.split("'")[1])
        return mcp_types.ElicitResult(action="accept", content={"answer": "always"})


def kept() -> Any:
    return json.loads(Path(os.environ["HOME"], ".skillhub", "permissions.json").read_text(encoding="utf-8"))


@pytest.fixture
def projects(
    hub_environment: dict[str, str], tmp_path: Path, write_skill: SkillWriter
) -> tuple[dict[str, str], dict[str, str]]:
    """The environments of servers in two projects with the same skills: one has rules that allow beta."""
    places = [tmp_path.resolve() / name for name in ("ruled", "free")]
    for place in places:
        (place / ".git").mkdir(parents=True)
        for name in ("alpha", "beta", "gamma"):
            write_skill(name, root=place / ".agents" / "skills")
    (places[0] / ".skillhub").mkdir()
    lists = {"allow": [{"tool": "skill_load", "skill_name": "beta"}]}
    (places[0] / ".skillhub" / "permissions.json").write_text(json.dumps({"permissions": lists}), encoding="utf-8")
    of_project = {"SKILLHUB_ROOTS": "project", "SKILLHUB_TRUST": "all"}
    ruled, free = ({**hub_environment, **of_project, "SKILLHUB_CWD": str(place)} for place in places)
    return ruled, free


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_always_for_one_skill_takes_nothing_away_here_or_in_another_project(
    mode: str, projects: tuple[dict[str, str], dict[str, str]]
) -> None:
    ruled, free = projects
    person = Person()

    async def journey() -> None:
        async with (
            reached(("stdio", mode), ruled, elicitation_callback=person) as one,
            reached(("stdio", mode), free, elicitation_callback=person) as other,
        ):
            for name in ("beta", "alpha", "beta", "alpha"):
                assert (await one.call("load_skill", skill_name=name)).code is None
            assert person.asked == ["alpha"]
            for name in ("alpha", "beta", "gamma"):
                assert (await other.call("load_skill", skill_name=name)).code is None
            assert person.asked == ["alpha"]
            assert kept() == {
                "permissions": {"others": "allow", "allow": [{"tool": "skill_load", "skill_name": "alpha"}]}
            }
            # Both servers follow what their person says next, and the project's word goes on to count in its own.
            await asyncio.to_thread(command, free, "permissions", "deny", "beta")
            codes = [(await hub.call("load_skill", skill_name="beta")).code for hub in (one, other)]
            assert codes == ["PERMISSION_DENIED", "PERMISSION_DENIED"]
            assert (await one.call("load_skill", skill_name="gamma")).code is None
            assert person.asked == ["alpha", "gamma"]
            await asyncio.to_thread(command, free, "permissions", "forget", "beta", "--others", "confirm")
            assert (await other.call("load_skill", skill_name="beta")).code is None
            assert person.asked == ["alpha", "gamma", "beta"]

    asyncio.run(journey())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_answer_that_cannot_be_kept_counts_all_the_same_and_is_in_the_log(
    mode: str, projects: tuple[dict[str, str], dict[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    ruled, _ = projects
    person = Person()
    # Root may write everywhere, so that the lock of the file cannot be opened for another reason.
    Path(os.environ["HOME"], ".skillhub", "permissions.json.lock").mkdir(parents=True)

    async def journey() -> None:
        async with reached(("stdio", mode), ruled, elicitation_callback=person) as hub:
            for _ in range(2):
                assert (await hub.call("load_skill", skill_name="alpha")).code is None

    asyncio.run(journey())
    assert person.asked == ["alpha"]
    (line,) = [record.getMessage() for record in caplog.records if "asked again" in record.getMessage()]
    assert line.startswith("Your permissions.json cannot be written: Is a directory (")
