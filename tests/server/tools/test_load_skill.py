"""load_skill as a client sees it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import WAYS, reached
from tests.server.sessions import Answer, ask, call, in_process

Environment = dict[str, str]

BODY = "\n# Title\r\n\r\n---\n\ttab\n\n| a | b |\n|---|---|\n```\n---\n```\n"


def test_a_skill_of_directories_in_each_other_without_a_bound_is_loaded(
    hub_environment: Environment, write_skill: SkillWriter, make_deep: Callable[[Path], None]
) -> None:
    make_deep(write_skill("one"))
    assert ask(hub_environment, "load_skill", skill_name="one").json["name"] == "one"


@pytest.mark.acceptance("S2-22", "S2-23")
def test_the_body_comes_untouched_with_the_absolute_directory(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    directory = write_skill("one", body="")
    skill_file = directory / "SKILL.md"
    skill_file.write_bytes(skill_file.read_bytes() + BODY.encode())
    answer = ask(hub_environment, "load_skill", skill_name="one")
    assert answer.json == {"name": "one", "instructions": BODY, "uri": "skill://hub/one", "path": str(directory)}


def test_no_reply_holds_a_body_twice(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one", body="a body that is unmistakable\n", files={"a.md": "a file that is unmistakable"})
    loaded = ask(hub_environment, "load_skill", skill_name="one")
    read = ask(hub_environment, "read_skill_file", skill_name="one", file_path="a.md")
    for answer in (loaded, read):
        assert answer.blocks == 1
        assert answer.structured is None
        assert answer.text.count("unmistakable") == 1


@pytest.mark.acceptance("S2-24", "S2-6")
def test_an_unknown_name_says_which_are_near_or_there(hub_environment: Environment, write_skill: SkillWriter) -> None:
    none = ask(hub_environment, "load_skill", skill_name="pdf-reader")
    assert none.text == (
        "SKILL_NOT_FOUND: No skill is named 'pdf-reader'. Available skills: (none). This hub has no skill."
    )
    write_skill("pdf-reader")
    near = ask(hub_environment, "load_skill", skill_name="pdf-raeder")
    assert near.text == "SKILL_NOT_FOUND: No skill is named 'pdf-raeder'. Did you mean 'pdf-reader'?"
    assert near.error == {
        "code": "SKILL_NOT_FOUND",
        "skill_name": "pdf-raeder",
        "near": ["pdf-reader"],
        "hint": "did you mean 'pdf-reader'?",
    }
    assert "Available skills: pdf-reader." in ask(hub_environment, "load_skill", skill_name="zzz").text


@pytest.mark.acceptance("S2-6")
def test_the_jsonrpc_style_carries_the_same_code(hub_environment: Environment, write_skill: SkillWriter) -> None:
    from mcp.shared.exceptions import MCPError

    write_skill("pdf-reader")

    async def go() -> MCPError:
        async with in_process({**hub_environment, "SKILLHUB_ERROR_STYLE": "jsonrpc"}) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("load_skill", {"skill_name": "nope"})
            return caught.value

    error = asyncio.run(go())
    assert error.error.data["code"] == "SKILL_NOT_FOUND"
    assert not -32_768 <= error.error.code <= -32_000


@pytest.mark.acceptance("S2-26")
def test_the_body_is_the_one_on_disk_now(hub_environment: Environment, write_skill: SkillWriter) -> None:
    async def go() -> None:
        async with in_process(hub_environment) as client:
            write_skill("one", body="first\n")
            assert (await call(client, "load_skill", skill_name="one")).json["instructions"] == "first\n"
            write_skill("one", body="second\n")
            assert (await call(client, "load_skill", skill_name="one")).json["instructions"] == "second\n"

    asyncio.run(go())


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", ["load_skill", "read_skill_file"])
def test_a_skill_that_was_moved_a_moment_ago_is_read_where_it_is_and_one_that_was_removed_is_not_found(
    way: tuple[str, str], tool: str, hub_environment: Environment, write_skill: SkillWriter
) -> None:
    moved = write_skill("moved", body="Moved.\n", files={"a.md": "Moved."})
    removed = write_skill("removed", files={"a.md": "A"})
    write_skill("here")
    file = {"file_path": "a.md"} if tool == "read_skill_file" else {}

    async def go() -> None:
        async with reached(way, hub_environment) as hub:
            for name in ("moved", "removed"):
                assert (await hub.call(tool, skill_name=name, **file)).code is None
            moved.rename(moved.with_name("elsewhere"))
            assert "Moved." in (await hub.call(tool, skill_name="moved", **file)).text
            shutil.rmtree(removed)
            gone = await hub.call(tool, skill_name="removed", **file)
            assert gone.code == "SKILL_NOT_FOUND"
            assert "here" in gone.text
            # A file that is missing for its own sake is told as before.
            other = await hub.call("read_skill_file", skill_name="here", file_path="none.md")
            assert other.code == "FILE_NOT_FOUND"

    asyncio.run(go())


@pytest.mark.acceptance("S2-57")
@pytest.mark.parametrize("written", ["Read, Bash(git add *)", "[Read, 'Bash(git add *)']", "Read Bash(git add *)"])
def test_allowed_tools_are_shown_as_a_list(
    hub_environment: Environment, write_skill: SkillWriter, written: str
) -> None:
    write_skill("one", extra=f"allowed-tools: {written}")
    assert ask(hub_environment, "load_skill", skill_name="one").json["allowed_tools"] == ["Read", "Bash(git add *)"]


@pytest.mark.acceptance("S2-61")
def test_the_readme_of_a_skill_is_not_part_of_the_instructions(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    write_skill("one", body="Do.\n", files={"README.md": "For people."})
    assert ask(hub_environment, "load_skill", skill_name="one").json["instructions"] == "Do.\n"


def test_a_wild_name_answers_to_its_safe_alias_too(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("Chat with PDF", directory="chat")
    for name in ("Chat with PDF", "chat-with-pdf"):
        assert ask(hub_environment, "load_skill", skill_name=name).json["name"] == "Chat with PDF"


def test_a_long_body_comes_in_parts_that_join(hub_environment: Environment, write_skill: SkillWriter) -> None:
    body = "".join(f"{number} ラインの本文 {'x' * 50}\n" for number in range(6_000))
    write_skill("long-one", body=body)

    async def go() -> str:
        async with in_process(hub_environment) as client:
            joined, part = "", 1
            while True:
                answer = (await call(client, "load_skill", skill_name="long-one", part=part)).json
                assert len(answer["instructions"].encode()) <= 131_072
                joined += str(answer["instructions"])
                if "next_part" not in answer:
                    return joined
                assert answer["part"].startswith(f"{part} of ")
                part = answer["next_part"]

    assert asyncio.run(go()) == body
    beyond = ask(hub_environment, "load_skill", skill_name="long-one", part=99)
    assert beyond.text == (
        "INVALID_ARGUMENT: part is 99, but 'long-one' has parts 1 to 4. Begin with part=1 and go on with next_part."
    )
    write_skill("short-one")
    whole = ask(hub_environment, "load_skill", skill_name="short-one", part=2)
    assert whole.text == "INVALID_ARGUMENT: part is 2, but 'short-one' comes in one part. Leave part out."


@pytest.mark.parametrize("way", WAYS)
def test_the_uri_that_a_skill_came_with_loads_that_very_skill_and_reads_its_files(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, way: tuple[str, str]
) -> None:
    """Two roots of one source: over HTTP, where no path is told, nothing else names the skill of the second."""
    roots = [tmp_path / "first", tmp_path / "second"]
    for root in roots:
        write_skill("dup", f"Is of the {root.name}.", body=root.name, files={"a.md": root.name}, root=root)
    environment = {**hub_environment, "SKILLS_DIR": os.pathsep.join(map(str, roots)), "SKILLHUB_TOOLS": "core,skill"}

    async def go() -> None:
        async with reached(way, environment) as client:
            for uri, name, root in (("skill://hub/dup", "dup", "first"), ("skill://hub-2/dup",) * 2 + ("second",)):
                loaded = (await client.call("load_skill", skill_name=uri)).json
                assert (loaded["name"], loaded["instructions"], loaded["uri"]) == (name, root, uri)
                for handle in (uri, f"{uri}/SKILL.md"):
                    read = await client.call("read_skill_file", skill_name=handle, file_path="a.md")
                    assert read.json["content"] == root
                told = (await client.call("Skill", skill=uri)).text
                assert f"# Skill: {name}\n\n{root}" in told
                assert (str(tmp_path) in told) == (way[0] == "stdio")
            unknown = await client.call("load_skill", skill_name="skill://hub-3/dup")
            assert unknown.text.startswith("SKILL_NOT_FOUND: No skill is named 'skill://hub-3/dup'")
            assert str(tmp_path) not in unknown.text

    asyncio.run(go())


def test_by_its_uri_a_skill_is_withheld_as_by_its_name(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("allowed")
    write_skill("hidden")
    environment = {**hub_environment, "SKILLHUB_ENABLED_SKILLS": "allowed"}
    by_name, by_uri = (ask(environment, "load_skill", skill_name=name) for name in ("hidden", "skill://hub/hidden"))
    assert (by_uri.text, by_uri.code) == (by_name.text, "SKILL_DISABLED")


def steps(*numbers: int) -> str:
    """A body of a part's length for each step."""
    return "".join(f"# Step {number}\n{'do ' * 40_000}\n" for number in numbers)


@pytest.mark.parametrize(("tool", "argument"), [("load_skill", "skill_name"), ("Skill", "skill")])
def test_a_part_of_another_version_than_the_part_before_is_refused_until_the_first_is_loaded_again(
    hub_environment: Environment, write_skill: SkillWriter, tool: str, argument: str
) -> None:
    write_skill("long", body=steps(0, 1, 2, 3))
    environment = {**hub_environment, "SKILLHUB_TOOLS": "core,skill"}

    async def go() -> None:
        async with in_process(environment) as client:

            async def load(part: int) -> Answer:
                return await call(client, tool, **{argument: "long"}, part=part)

            assert [(await load(part)).code for part in (1, 2)] == [None, None]
            write_skill("long", body=steps(0, 2, 3))
            refused = await load(3)
            assert refused.text == (
                "INVALID_ARGUMENT: part goes on with a text that has changed since its earlier part was loaded. Begin "
                "again with part=1."
            )
            assert [(await load(part)).code for part in (1, 2, 3)] == [None, None, None]

    asyncio.run(go())


def test_a_file_that_was_only_touched_goes_on(hub_environment: Environment, write_skill: SkillWriter) -> None:
    directory = write_skill("long", body=steps(0, 1))

    async def go() -> str | None:
        async with in_process(hub_environment) as client:
            await call(client, "load_skill", skill_name="long")
            os.utime(directory / "SKILL.md", (1, 1))
            return (await call(client, "load_skill", skill_name="long", part=2)).code

    assert asyncio.run(go()) is None


@pytest.mark.parametrize("way", WAYS)
def test_parts_tell_which_version_they_are_of_and_a_whole_body_costs_nothing_more(
    hub_environment: Environment, write_skill: SkillWriter, way: tuple[str, str]
) -> None:
    """In the stateless protocol there is no session in which the server would see that a part is of another one."""
    write_skill("long", body=steps(0, 1, 2))
    write_skill("short")

    async def go() -> tuple[list[str], set[str]]:
        async with reached(way, hub_environment) as client:
            short = (await client.call("load_skill", skill_name="short")).json
            digests = [
                (await client.call("load_skill", skill_name="long", part=part)).json["digest"] for part in (1, 3)
            ]
            write_skill("long", body=steps(0, 1, 3))
            digests.append((await client.call("load_skill", skill_name="long")).json["digest"])
            return digests, set(short)

    (first, last, later), short = asyncio.run(go())
    assert first == last != later
    assert "digest" not in short


@pytest.mark.slow
def test_a_skill_file_that_broke_since_is_named_as_unreadable(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    directory = write_skill("one")

    async def go() -> None:
        async with in_process(hub_environment) as client:
            await call(client, "search_skills", query="thing")
            (directory / "SKILL.md").write_bytes(b"\0")
            assert (await call(client, "load_skill", skill_name="one")).code == "SKILL_UNREADABLE"

    asyncio.run(go())


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("load_skill", {}, "INVALID_ARGUMENT: skill_name is missing."),
        ("load_skill", {"skill_name": "a", "x": 1}, "INVALID_ARGUMENT: x is not an argument of load_skill."),
        (
            "load_skill",
            {"skill_name": "a" * 257},
            "INVALID_ARGUMENT: skill_name must be text of at most 256 characters",
        ),
        ("search_skills", {"query": "a" * 65_537}, "INVALID_ARGUMENT: query must be text of at most 65,536 characters"),
        ("search_skills", {"query": "a", "limit": 0}, "INVALID_ARGUMENT: limit must be a whole number from 1 to 100"),
        ("search_skills", {"query": "a", "limit": 101}, "INVALID_ARGUMENT: limit must be a whole number from 1 to 100"),
        (
            "read_skill_file",
            {"skill_name": "a", "file_path": "a" * 1025},
            "INVALID_ARGUMENT: file_path must be text of at most 1,024 characters",
        ),
    ],
)
def test_arguments_out_of_bounds_are_refused_in_plain_words(
    hub_environment: Environment, tool: str, arguments: dict[str, object], says: str
) -> None:
    answer = ask(hub_environment, tool, **arguments)
    assert answer.text.startswith(says)
    assert "pydantic" not in json.dumps([answer.text, answer.error])


@pytest.mark.parametrize("tools", ["core", "context"])
def test_another_encoding_than_utf_8_and_16_is_refused_with_the_command_that_converts_it(
    tools: str, hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path
) -> None:
    root = tmp_path / "repo" / ".agents" / "skills"
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    for name, codec in (("wide", "utf-16"), ("other", "cp932"), ("body-only", "cp932")):
        description = "会議録作成" if name != "body-only" else "Takes minutes."
        file = write_skill(name, root=root) / "SKILL.md"
        file.write_bytes(f"---\nname: {name}\ndescription: {description}\n---\n会議録。\n".encode(codec))
    environment = {
        **hub_environment,
        "SKILLHUB_TOOLS": tools,
        "SKILLHUB_ROOTS": "project",
        "SKILLHUB_CWD": str(tmp_path / "repo"),
    }
    tool, key = ("load_skill", "skill_name") if tools == "core" else ("skill_load", "name")
    assert "会議録。" in ask(environment, tool, **{key: "wide"}).text
    for name in ("other", "body-only"):
        refused = ask(environment, tool, **{key: name})
        assert refused.error
        assert "not UTF-8" in refused.text
        assert "iconv -f ENCODING -t UTF-8" in refused.text
