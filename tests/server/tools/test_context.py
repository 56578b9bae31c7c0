"""The set `context` over MCP: list, search and load."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from tests.conftest import SkillWriter
from tests.server.connections import TWO_WAYS, WAYS, Caller, Said, caller, listening, reached
from tests.server.sessions import Answer, call, command, in_process

from skillhub_mcp.mcp_tools import TOOL_ACTIONS

pytestmark = pytest.mark.slow

Environment = dict[str, str]
TOOLS = {"skills_list", "skill_search", "skill_load"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "repo"
    (directory / ".git").mkdir(parents=True)
    return directory


@pytest.fixture
def environment(hub_environment: Environment, project: Path) -> Environment:
    places = {"SKILLHUB_CWD": str(project), "SKILLHUB_TRUST": "all"}
    return {**hub_environment, "SKILLHUB_TOOLS": "core,context", **places}


@pytest.fixture
def add(write_skill: SkillWriter) -> Callable[..., Path]:
    def add(place: Path, name: str, description: str = "Does it. Use when due.", **options: Any) -> Path:
        return write_skill(name, description, root=place / ".agents" / "skills", **options).resolve()

    return add


def talk(environment: Environment, journey: Callable[[Client[Any]], Awaitable[Any]], **options: Any) -> Any:
    async def go() -> Any:
        async with in_process(environment, **options) as client:
            return await journey(client)

    return asyncio.run(go())


def ask(environment: Environment, tool: str, **arguments: Any) -> Answer:
    answer: Answer = talk(environment, lambda client: call(client, tool, **arguments))
    return answer


def names(answer: Answer) -> list[str]:
    return [skill["name"] for skill in answer.json["skills"]]


def names_of(said: Said) -> set[str]:
    return {skill["name"] for skill in said.json["skills"]}


def quoted(reminder: Said) -> str:
    """What a reminder quotes of the text that was shown."""
    _, opening, _ = reminder.text.split("\n")
    return opening


async def tools(client: Client[Any]) -> set[str]:
    return {tool.name for tool in await client.list_tools()}


@pytest.mark.acceptance("S0-72", "S0-73")
def test_the_set_is_offered_when_it_is_chosen_and_skills_are_not_switched_off(environment: Environment) -> None:
    assert talk(environment, tools) >= TOOLS
    assert not talk({**environment, "SKILLHUB_TOOLS": "core"}, tools) & TOOLS
    assert not talk({**environment, "SKILLHUB_SKILLS_ENABLED": "0"}, tools) & TOOLS


@pytest.mark.acceptance("S0-74")
def test_a_server_starts_with_bad_values_and_says_so(environment: Environment) -> None:
    bad = {"SKILLHUB_SKILLS_ENABLED": "perhaps", "SKILLHUB_SKILL_SEARCH_LIMIT": "-1"}
    done = subprocess.run(
        [sys.executable, "-m", "skillhub_mcp"],
        env={**environment, **bad},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert "SKILLHUB_SKILLS_ENABLED='perhaps' must be 1 or 0" in done.stderr
    assert "SKILLHUB_SKILL_SEARCH_LIMIT='-1' must be a whole number from 1 to 1000; using 8" in done.stderr
    assert talk({**environment, **bad}, tools) >= TOOLS


@pytest.mark.acceptance("S0-1", "S0-4", "S0-25", "S0-75")
def test_the_list_has_every_skill_and_every_error(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    first = add(project, "one", "The project's.")
    second = add(Path(environment["HOME"]), "one", "The user's.")
    broken = add(project, "broken", frontmatter="name: broken")
    answer = ask(environment, "skills_list")
    assert [(skill["scope"], skill["dir"], skill["path"]) for skill in answer.json["skills"]] == [
        ("repo", str(first), f"{first}/SKILL.md"),
        ("user", str(second), f"{second}/SKILL.md"),
    ]
    assert set(answer.json["skills"][0]) == {"id", "name", "description", "path", "dir", "scope", "mtimeMs"}
    (error,) = answer.json["errors"]
    assert error["path"] == f"{broken}/SKILL.md"
    assert "description" in error["message"]
    assert answer.blocks == 1


def test_a_skill_that_only_the_hub_has_is_told_with_the_tool_that_loads_it(
    environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("pdf-merge")
    places = "only those in .agents/skills of the project and of the user are known here"
    beside = {**environment, "SKILLHUB_TOOLS": "core,context"}
    told = ask(beside, "skill_load", name="pdf-merge").text
    assert told == f"SKILL_NOT_FOUND: No skill is named 'pdf-merge': {places}. Load it with load_skill as 'pdf-merge'."
    for alone, name in (({**environment, "SKILLHUB_TOOLS": "context"}, "pdf-merge"), (beside, "made-up")):
        told = ask(alone, "skill_load", name=name).text
        assert told == f"SKILL_NOT_FOUND: No skill is named {name!r}: {places}. Available skills: (none)."


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.acceptance("S0-76")
def test_the_tools_follow_the_files_and_say_what_became_of_a_skill(
    way: tuple[str, str], environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    old = add(project, "old", "Writes letters.")
    gone = add(project, "gone", "Paints walls.")
    environment = {**environment, "SKILLHUB_EXPOSE_PATHS": "1"}

    async def journey(hub: Caller) -> None:
        async def seen() -> set[str]:
            listed = names_of(await hub.call("skills_list"))
            found = names_of(await hub.call("skill_search", query="writes letters paints walls"))
            told = set(re.findall(r"<name>(.*)</name>", await hub.prompt("session_context")))
            assert listed == found == told
            return listed

        assert await seen() == {"old", "gone"}
        assert "Writes letters." in (await hub.call("skill_load", name="old")).text
        new = old.rename(old.with_name("new"))
        (new / "SKILL.md").write_text(
            "---\nname: new\ndescription: Writes letters.\n---\nAs before.\n", encoding="utf-8"
        )
        shutil.rmtree(gone)
        add(project, "added", "Writes novels.")
        for _ in range(100):
            # On a slow disk the files are not looked at for every call.
            if "added" in names_of(await hub.call("skill_search", query="novels")):
                break
            await asyncio.sleep(0.1)
        assert await seen() == {"new", "added"}
        assert "Writes novels." in (await hub.call("skill_load", name="added")).text
        for chosen in ({"name": "old"}, {"path": f"{old}/SKILL.md"}):
            refused = await hub.call("skill_load", **chosen)
            assert refused.code == "SKILL_NOT_FOUND"
        assert "As before." in (await hub.call("skill_load", name="new")).text

    async def go() -> None:
        async with reached(way, environment) as hub:
            await journey(hub)

    asyncio.run(go())


@pytest.mark.parametrize("way", TWO_WAYS, ids="-".join)
@pytest.mark.acceptance("S0-75")
def test_a_long_list_comes_in_pages_each_skill_and_error_once(
    way: tuple[str, str], environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    for number in range(130):
        add(project, f"s{number:03}", "d" * (900 if number < 50 else 9))
    for number in range(20):
        add(project, f"wrong-{number:02}", frontmatter="name: wrong")

    async def go() -> None:
        async with reached(way, environment) as hub:
            answers = [await hub.call("skills_list")]
            while (cursor := answers[-1].json.get("next_cursor")) is not None:
                answers.append(await hub.call("skills_list", cursor=cursor))
            pages = [(page.json["skills"], page.json["errors"]) for page in answers]
            assert [skill["name"] for skills, _ in pages for skill in skills] == [f"s{n:03}" for n in range(130)]
            assert len({error["path"] for _, errors in pages for error in errors}) == 20
            assert all(len(page.text.encode()) < 34 * 1024 for page in answers)
            assert [len(skills) + len(errors) <= 100 for skills, errors in pages] == [True] * 3

            # What comes or goes between two pages moves no other skill out of them.
            last = pages[0][0][-1]["name"]
            shutil.rmtree(project / ".agents" / "skills" / "s000")
            second = await hub.call("skills_list", cursor=answers[0].json["next_cursor"], force_reload=True)
            assert second.json["skills"][0]["name"] == f"s{int(last[1:]) + 1:03}"
            for wrong in ("x", "1", "0." + "g" * 24):
                refused = await hub.call("skills_list", cursor=wrong)
                assert (refused.code, "leave it out" in refused.text.lower()) == ("INVALID_ARGUMENT", True)

    asyncio.run(go())


@pytest.mark.acceptance("S0-6", "S0-27", "S0-29", "S0-30", "S0-31", "S0-35")
def test_a_search_gives_candidates_with_reasons_and_scores(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    add(project, "release", "Ships a version")
    add(project, "release-notes", "Draft notes from commits")
    add(project, "議事録", "never listed: the name is not ASCII")
    add(Path(environment["HOME"]), "minutes", "会議の議事録。Use for each release")
    answer = ask(environment, "skill_search", query="release")
    assert [(skill["name"], skill["reason"]) for skill in answer.json["skills"]] == [
        ("release", "exact_name"),
        ("release-notes", "prefix"),
        ("minutes", "token_overlap"),
    ]
    assert (answer.json["count"], answer.json["truncated"]) == (3, False)
    assert answer.structured == answer.json
    assert set(answer.json["skills"][0]) >= {"name", "description", "path", "scope", "reason", "score"}
    assert names(ask(environment, "skill_search", query="議事録")) == ["minutes"]
    by_path = ask(environment, "skill_search", query=".agents/skills/release-notes/SKILL.md").json["skills"][0]
    assert (by_path["name"], by_path["reason"], by_path["score"]) == ("release-notes", "exact_path", 1.0)


@pytest.mark.acceptance("S0-33", "S0-34", "S0-36", "S0-73")
def test_limits_and_scopes_hold_and_wrong_ones_are_refused(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    for number in range(10):
        add(project, f"paint-{number}", f"Paints in colour {number}. " + "Mixes it before, and cleans the brush. " * 9)
    found = ask(environment, "skill_search", query="paint")
    assert len(names(found)) == 8
    # The first three tell all, as a search of the hub does; a list tells all of each.
    assert [hit["description"].endswith("…") for hit in found.json["skills"]] == [False] * 3 + [True] * 5
    assert not any(one["description"].endswith("…") for one in ask(environment, "skills_list").json["skills"])
    assert len(names(ask(environment, "skill_search", query="paint", limit=9))) == 9
    fewer = {**environment, "SKILLHUB_SKILL_SEARCH_LIMIT": "2", "SKILLHUB_SKILL_SEARCH_MAX_LIMIT": "3"}
    assert len(names(ask(fewer, "skill_search", query="paint"))) == 2
    assert ask(fewer, "skill_search", query="paint", limit=9).json["truncated"] is True
    assert len(names(ask(fewer, "skill_search", query="paint", limit=9))) == 3
    assert names(ask(environment, "skill_search", query="paint", scope="user")) == []
    for wrong in ({"limit": 0}, {"limit": -1}, {"scope": "hub"}):
        assert ask(environment, "skill_search", query="paint", **wrong).code == "INVALID_ARGUMENT"
    assert ask(environment, "skill_search", query="").code == "INVALID_ARGUMENT"
    assert ask(environment, "skill_search", query="quantum").json == {"skills": [], "count": 0, "truncated": False}


@pytest.mark.acceptance("S0-26", "S0-50", "S0-52", "S0-56", "S0-57")
def test_an_ambiguous_name_tells_the_paths_and_a_path_loads_the_whole_file(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    first = add(project, "one", "The project's.")
    second = add(Path(environment["HOME"]), "one", "The user's.", files={"references/a.md": "x"})

    async def journey(client: Client[Any]) -> Any:
        refused = await call(client, "skill_load", name="one")
        loaded = await client.call_tool("skill_load", {"path": f"{second}/SKILL.md"})
        return refused, loaded, await call(client, "skill_load"), await call(client, "skill_load", name="two")

    refused, loaded, neither, unknown = talk(environment, journey)
    assert refused.code == "AMBIGUOUS_SKILL"
    assert refused.error["candidates"] == [f"{first}/SKILL.md", f"{second}/SKILL.md"]
    assert all(path in refused.text for path in refused.error["candidates"])
    assert loaded.content[0].text.startswith(f'<skill_context name="one" path="{second}/SKILL.md">\n---\nname: one\n')
    assert f"<file>{second}/references/a.md</file>" in loaded.content[0].text
    assert loaded.structured_content is None
    assert loaded.meta["io.skillhub/skill"] == {
        "skill_id": loaded.meta["io.skillhub/skill"]["skill_id"],
        "name": "one",
        "path": f"{second}/SKILL.md",
        "dir": str(second),
        "mtime_ms": (second / "SKILL.md").stat().st_mtime_ns / 1_000_000,
    }
    assert (neither.code, unknown.code) == ("INVALID_ARGUMENT", "SKILL_NOT_FOUND")


def test_the_servers_filter_holds_here_too(environment: Environment, add: Callable[..., Path], project: Path) -> None:
    add(project, "allowed")
    add(project, "other")
    only = {**environment, "SKILLHUB_ENABLED_SKILLS": "allowed"}
    assert names(ask(only, "skills_list")) == ["allowed"]
    assert names(ask(only, "skill_search", query="other")) == []
    assert ask(only, "skill_load", name="other").code == "SKILL_NOT_FOUND"


@pytest.mark.parametrize("way", [way for way in WAYS if way != ("http", "auto")], ids="-".join)
@pytest.mark.acceptance("S0-58", "S0-61")
def test_a_part_is_not_the_whole_and_a_reminder_quotes_what_was_shown(
    way: tuple[str, str], environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    body = "".join(f"Line {number} of many, many more.\n" for number in range(10_000))
    add(project, "long", body=body)
    add(project, "short", body="Do it.\n", files={"references/a.md": "x" * 3_000})
    environment |= {
        "SKILLHUB_TOOLS": "core,context,skill",
        "SKILLHUB_ROOTS": "project",
        "MAX_FILE_BYTES": "2000",
    }

    async def incomplete(hub: Caller) -> set[str]:
        loaded = (await hub.call("context_inspect")).json["skills"]["loaded"]
        return {one["name"] for one in loaded if one.get("complete") is False}

    async def first_part(hub: Caller) -> None:
        assert (await hub.call("load_skill", skill_name="long")).json["part"] == "1 of 3"
        assert await incomplete(hub) == {"long"}
        assert body in (await hub.call("skill_load", name="long")).text

    async def every_part(hub: Caller) -> None:
        shown = await hub.call("load_skill", skill_name="long", part=1)
        assert await incomplete(hub) == {"long"}
        await hub.call("Skill", skill="long", part=2)
        await hub.call("load_skill", skill_name="long", part=3)
        assert await incomplete(hub) == set()
        reminder = await hub.call("skill_load", name="long")
        assert reminder.meta["io.skillhub/skill"]["already_loaded"] is True
        assert quoted(reminder)
        assert shown.text.startswith(quoted(reminder))
        assert body in (await hub.call("skill_load", name="long", force=True)).text

    async def files_and_the_last_text(hub: Caller) -> None:
        first = await hub.call("skill_load", name="short")
        assert first.text.startswith(quoted(await hub.call("skill_load", name="short")))
        await hub.call("Skill", skill="short")
        assert quoted(await hub.call("skill_load", name="short")) == '<skill-loaded name="short">'
        place = {"skill_name": "short", "file_path": "references/a.md"}
        read = await hub.call("read_skill_file", **place)
        assert await incomplete(hub) == {"short/references/a.md"}
        await hub.call("read_skill_file", **place, offset=read.json["next_offset"])
        assert await incomplete(hub) == set()

    async def go() -> None:
        for journey in (first_part, every_part, files_and_the_last_text):
            async with reached(way, environment) as hub:
                await hub.call("context_inspect")
                await journey(hub)

    asyncio.run(go())


def test_over_http_no_path_is_shown_or_chosen(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    add(project, "one", files={"references/a.md": "x"})
    add(project, "broken", frontmatter="name: broken")

    async def journey(url: str) -> list[Answer]:
        async with Client(url) as client:
            return [
                await call(client, "skills_list"),
                await call(client, "skill_search", query="one"),
                await call(client, "skill_load", name="one"),
                await call(client, "skills_list", cwd=str(project)),
            ]

    with listening(environment) as url:
        *told, refused = asyncio.run(journey(url))
    assert names(told[0]) == ["one"]
    assert told[0].json["errors"][0]["path"] == os.path.join("broken", "SKILL.md")
    assert "<file>references/a.md</file>" in told[2].text
    assert all(str(project) not in answer.text for answer in told)
    assert refused.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("way", TWO_WAYS, ids="-".join)
def test_a_skill_that_a_copy_replaced_with_its_time_kept_is_sent_again(
    way: tuple[str, str], environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    path = add(project, "one", body="first\n") / "SKILL.md"

    async def go() -> None:
        async with reached(way, environment) as client:
            assert "first" in (await client.call("skill_load", name="one")).text
            again = await client.call("skill_load", name="one")
            assert again.meta["io.skillhub/skill"]["already_loaded"] is True
            before = path.stat()
            path.write_text(path.read_text(encoding="utf-8").replace("first", "other"), encoding="utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert "other" in (await client.call("skill_load", name="one")).text

    asyncio.run(go())


@pytest.mark.parametrize("sets", ["core,context", "context"])
@pytest.mark.parametrize("roots", ["hub", "hub,project,user"])
def test_over_http_the_text_names_a_tool_that_is_there_and_reads_this_skills_files(
    roots: str, sets: str, environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    for place, content in ((project, "project"), (Path(environment["HOME"]), "user")):
        add(place, "one", f"The {content}'s.", files={"references/a.md": f"of the {content}"})
    hub = Path(environment["SKILLS_DIR"]) / "one"
    (hub / "references").mkdir(parents=True)
    (hub / "SKILL.md").write_text("---\nname: one\ndescription: The hub's.\n---\n", encoding="utf-8")
    (hub / "references" / "a.md").write_text("of the hub", encoding="utf-8")
    environment = {**environment, "SKILLHUB_ROOTS": roots, "SKILLHUB_TOOLS": sets, "SKILLHUB_TRUST": "all"}

    async def go(url: str) -> None:
        async with caller(url, "auto") as client:
            tools = {tool.name for tool in await client.look()}
            refused = await client.call("skill_load", name="one")
            ids = {skill["scope"]: skill["id"] for skill in (await client.call("skills_list")).json["skills"]}
            assert refused.code == "AMBIGUOUS_SKILL"
            assert f"one of their ids as path: {ids['repo']}, {ids['user']}" in refused.text
            for scope, content in (("repo", "project"), ("user", "user")):
                text = (await client.call("skill_load", path=ids[scope])).text
                named = re.search(r"read one with (\w+), skill_name=(\S+)\.\n", text)
                assert named is not None, text
                assert named[1] in tools
                read = await client.call(named[1], skill_name=named[2], file_path="references/a.md")
                assert read.json["content"] == f"of the {content}"
                handle = "one" if scope == "repo" else "one@user"
                assert named[2] == (ids[scope] if roots == "hub" else handle)
            unknown = await client.call("read_skill_file", skill_name="0" * 24, file_path="references/a.md")
            assert unknown.code == "SKILL_NOT_FOUND"

    with listening(environment) as url:
        asyncio.run(go(url))


def test_the_files_of_a_skill_are_under_the_rules_by_its_id_too(
    environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    add(project, "secret", files={"a.md": "x"})
    (project / ".skillhub").mkdir()
    rule = {"deny": [{"tool": "read_skill_file", "skill_name": "secret"}], "allow": [{"tool": "skill_load"}]}
    (project / ".skillhub" / "permissions.json").write_text(json.dumps({"permissions": rule}), encoding="utf-8")

    async def go(url: str) -> None:
        async with caller(url, "auto") as client:
            (skill,) = (await client.call("skills_list")).json["skills"]
            said = await client.call("read_skill_file", skill_name=skill["id"], file_path="a.md")
            assert said.code == "PERMISSION_DENIED"

    with listening(environment) as url:
        asyncio.run(go(url))


@pytest.mark.parametrize("sets", ["context", "skill", "all"])
@pytest.mark.parametrize("over_http", [False, True])
def test_no_error_names_a_tool_that_is_not_offered(
    over_http: bool, sets: str, environment: Environment, add: Callable[..., Path], project: Path
) -> None:
    for number in range(25):
        add(project, f"skill-{number:02}")
    add(project, "off")
    add(Path(environment["HOME"]), "skill-01")
    environment = {**environment, "SKILLHUB_TOOLS": sets, "SKILLHUB_ROOTS": "project,user"}
    command(environment, "disable", "off")
    calls: dict[str, list[dict[str, Any]]] = {
        "skill_load": [{}, {"name": "none"}, {"name": "off"}, {"path": "none"}, {"name": "skill-01"}],
        "skill_search": [{"query": " "}],
        "skills_list": [{"cwd": "/none"}, {"cursor": "x"}],
        "Skill": [{"skill": "none"}, {"skill": "off"}],
        "load_skill": [{"skill_name": "none"}, {"skill_name": "off"}, {"skill_name": "skill-02", "part": 9}],
        "read_skill_file": [
            {"skill_name": "none", "file_path": "a.md"},
            {"skill_name": "skill-02", "file_path": "a.md"},
            {"skill_name": "skill-02", "file_path": "/a.md"},
        ],
    }

    async def sweep(client: Caller) -> None:
        offered = {tool.name for tool in await client.look()}
        assert ("read_skill_file" in offered) == (over_http or sets == "all")
        for tool in offered & set(calls):
            for arguments in calls[tool]:
                said = await client.call(tool, **arguments)
                assert said.code is not None, (tool, arguments)
                named = set(re.findall(r"\w+", said.text)) & set(TOOL_ACTIONS.by_tool) - {"Skill"}
                assert named <= offered, said.text

    async def go() -> None:
        async with reached(("http" if over_http else "stdio", "auto"), environment) as client:
            await sweep(client)

    asyncio.run(go())


@pytest.mark.acceptance("S0-79")
def test_nothing_is_asked_of_a_network(environment: Environment, add: Callable[..., Path], project: Path) -> None:
    add(project, "one")
    script = """
import asyncio, os, socket, sys
def refuse(*_, **__):
    raise SystemExit("something asked the network")
socket.getaddrinfo = socket.create_connection = socket.socket.connect = socket.socket.connect_ex = refuse
sys.path.insert(0, sys.argv[1])
from tests.server.sessions import call, in_process
async def go():
    async with in_process(os.environ) as client:
        for tool, arguments in (
            ("skills_list", {"force_reload": True}), ("skill_search", {"query": "one"}), ("skill_load", {"name": "one"})
        ):
            answer = await call(client, tool, **arguments)
            assert answer.code is None and "one" in answer.text, answer
asyncio.run(go())
async def installers():
    import httpx2
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.bootstrap.server import server_options
    from skillhub_mcp.server.app import make_server
    from skillhub_mcp.server.http.app import HttpOptions, WellKnownOptions, make_http_app
    from skillhub_mcp.settings import read_settings
    settings, _ = read_settings({**os.environ, "SKILLHUB_ROOTS": "project"})
    hub = make_hub(settings)
    server = make_server(hub, server_options(settings, hub, over_http=True))
    app = make_http_app(server, hub, HttpOptions("127.0.0.1", 0, (), (), well_known=WellKnownOptions()))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        index = await client.get("/.well-known/agent-skills/index.json")
        (skill,) = index.json()["skills"]
        artifact = await client.get(f"/.well-known/agent-skills/{skill['url']}")
        assert b"name: one" in artifact.content, artifact
    hub.close()
asyncio.run(installers())
# What reaches out for a source is in no server, not even unused.
reaching = {f"skillhub_mcp.library.sources.{name}" for name in ("opening", "download", "git")}
assert not reaching & sys.modules.keys(), sys.modules.keys()
"""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script, root],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
