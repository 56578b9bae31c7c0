"""load_skill as a client sees it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.server.connections import reached, two_ways
from tests.server.sessions import ask, call, in_process

pytestmark = pytest.mark.anyio

Environment = dict[str, str]

BODY = "\n# Title\r\n\r\n---\n\ttab\n\n| a | b |\n|---|---|\n```\n---\n```\n"


@pytest.mark.acceptance("S2-22", "S2-23")
def test_the_body_comes_unchanged_with_the_absolute_directory(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    directory = write_skill("one", body="")
    skill_file = directory / "SKILL.md"
    skill_file.write_bytes(skill_file.read_bytes() + BODY.encode())
    answer = ask(hub_environment, "load_skill", skill_name="one")
    assert answer.json == {"name": "one", "instructions": BODY, "uri": "skill://hub/one", "path": str(directory)}
    # No reply contains a body twice.
    assert (len(answer.texts), answer.structured) == (1, None)


@pytest.mark.acceptance("S2-24", "S2-6")
def test_an_unknown_name_gets_suggestions(hub_environment: Environment, write_skill: SkillWriter) -> None:
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


@pytest.mark.acceptance("S2-26")
async def test_the_body_is_read_from_the_current_file(hub_environment: Environment, write_skill: SkillWriter) -> None:
    async with in_process(hub_environment) as client:
        write_skill("one", body="first\n")
        assert (await call(client, "load_skill", skill_name="one")).json["instructions"] == "first\n"
        write_skill("one", body="second\n")
        assert (await call(client, "load_skill", skill_name="one")).json["instructions"] == "second\n"


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
    assert whole.text.startswith("INVALID_ARGUMENT: part is 2, but 'short-one' has one part. ")


@two_ways
async def test_the_uri_of_a_skill_loads_it_and_reads_its_files(
    hub_environment: Environment, write_skill: SkillWriter, tmp_path: Path, way: tuple[str, str]
) -> None:
    """Two roots of one source: over HTTP, without paths, only the URI names the skill of the second."""
    roots = [tmp_path / "first", tmp_path / "second"]
    for root in roots:
        write_skill("dup", f"Is of the {root.name}.", body=root.name, files={"a.md": root.name}, root=root)
    environment = {**hub_environment, "SKILLS_DIR": os.pathsep.join(map(str, roots)), "SKILLHUB_TOOLS": "core,skill"}

    async with reached(way, environment) as client:
        for uri, name, text in (("skill://hub/dup", "dup", "first"), ("skill://hub-2/dup",) * 2 + ("second",)):
            loaded = (await client.call("load_skill", skill_name=uri)).json
            assert (loaded["name"], loaded["instructions"], loaded["uri"]) == (name, text, uri)
            for handle in (uri, f"{uri}/SKILL.md"):
                read = await client.call("read_skill_file", skill_name=handle, file_path="a.md")
                assert read.json["content"] == text
            loaded_text = (await client.call("Skill", skill=uri)).text
            assert f"# Skill: {name}\n\n{text}" in loaded_text
            assert (str(tmp_path) in loaded_text) == (way[0] == "stdio")
        unknown = await client.call("load_skill", skill_name="skill://hub-3/dup")
        assert unknown.text.startswith("SKILL_NOT_FOUND: No skill is named 'skill://hub-3/dup'")
        assert str(tmp_path) not in unknown.text
