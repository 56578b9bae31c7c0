"""read_skill_file as a client sees it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SkillWriter
from tests.server.sessions import Answer, ask, call, in_process
from tests.traversal import LINKS_OUT, NEVER_DECODED, REFUSED, SECRET, plant

pytestmark = pytest.mark.anyio

Environment = dict[str, str]


def read(environment: Environment, path: str, **arguments: Any) -> Answer:
    return ask(environment, "read_skill_file", skill_name="one", file_path=path, **arguments)


@pytest.mark.acceptance("S2-27")
def test_a_file_in_a_subdirectory_is_returned(hub_environment: Environment, write_skill: SkillWriter) -> None:
    write_skill("one", files={"templates/deep/a.txt": "Grüße, 世界\n"})
    expected = {"content": "Grüße, 世界\n", "encoding": "utf-8", "truncated": False}
    answer = read(hub_environment, "templates/deep/a.txt")
    assert (answer.json, len(answer.texts), answer.structured) == (expected, 1, None)
    assert read(hub_environment, "templates\\deep\\a.txt").json == expected


@pytest.mark.acceptance("S2-28", "S2-29", "S2-30", "S2-31")
async def test_no_hostile_path_reaches_a_secret(hub_environment: Environment, tmp_path: Path) -> None:
    directory = plant(tmp_path / "planted")
    (directory / "SKILL.md").write_text("---\nname: a\ndescription: d\n---\n", encoding="utf-8")
    environment = {**hub_environment, "SKILLS_DIR": str(directory.parent)}

    expected = [
        *((hostile.path, "PATH_NOT_ALLOWED") for hostile in (*REFUSED, *LINKS_OUT)),
        *((hostile.path, "FILE_NOT_FOUND") for hostile in NEVER_DECODED),
    ]

    async with in_process(environment) as client:
        for path, code in expected:
            answer = await call(client, "read_skill_file", skill_name="a", file_path=path)
            assert SECRET not in answer.text
            # Too long, half a character or a NUL: refused before the hub.
            is_no_path = len(path) > 1024 or any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in path)
            assert answer.code == ("INVALID_ARGUMENT" if is_no_path else code), path


@pytest.mark.acceptance("S2-32")
def test_a_long_file_is_cut_between_characters_and_continues(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    text = "世界" * 30_000
    write_skill("one", files={"long.txt": text})
    first = read(hub_environment, "long.txt").json
    assert first["truncated"] is True
    assert 65_536 - 3 <= len(first["content"].encode()) <= 65_536
    assert text.startswith(first["content"])
    joined, answer = first["content"], first
    while answer["truncated"]:
        answer = read(hub_environment, "long.txt", offset=answer["next_offset"]).json
        joined += answer["content"]
    assert joined == text


@pytest.mark.acceptance("S2-34", "S2-32")
def test_utf_16_is_read_and_other_bytes_come_as_base64_with_a_hint(
    hub_environment: Environment, write_skill: SkillWriter
) -> None:
    picture = b"\x89PNG\r\n\x1a\n\x00\xff\xfe"
    texts = {"wide.md": "Größe".encode("utf-16"), "other.md": "Größe".encode("latin-1")}
    write_skill("one", files={**texts, "a.png": picture})
    image = read(hub_environment, "a.png").json
    assert (image["encoding"], image["media_type"]) == ("base64", "image/png")
    assert base64.b64decode(image["content"]) == picture
    wide = read(hub_environment, "wide.md").json
    assert (wide["content"].lstrip("\ufeff"), wide["encoding"][:6]) == ("Größe", "utf-16")
    other = read(hub_environment, "other.md").json
    assert (other["encoding"], base64.b64decode(other["content"])) == ("base64", "Größe".encode("latin-1"))
    assert "iconv" in other["note"]
