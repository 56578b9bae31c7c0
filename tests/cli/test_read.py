"""`skillhub read`."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB, Skillhub
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow

BYTES = bytes(range(256)) * 1_000


@pytest.mark.parametrize(
    "content",
    [b"", b"no newline", "世界 🌍\r\n".encode() * 20_000, BYTES, b"text, then " + BYTES, "café".encode("cp1252")],
    ids=["empty", "short", "long-text", "binary", "mixed", "cp1252"],
)
def test_a_file_is_printed_whole_and_byte_for_byte(
    hub_environment: dict[str, str], write_skill: SkillWriter, content: bytes
) -> None:
    write_skill("one", files={"data/file": content})
    done = subprocess.run(
        [*SKILLHUB, "read", "one", "data/file"], env=hub_environment, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == content
    assert done.stderr == b""


def test_json_gives_the_one_chunk_that_an_agent_would_get(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    text = "0123456789" * 10
    write_skill("one", files={"long.txt": text, "a.bin": b"\0\xff\xfe"})
    assert skillhub("read", "one", "long.txt", "--json", MAX_FILE_BYTES="40").json == {
        "content": text[:40],
        "encoding": "utf-8",
        "truncated": True,
        "size": 100,
        "next_offset": 40,
        "media_type": "text/plain",
    }
    last = skillhub("read", "one", "long.txt", "--json", "--offset", "80", MAX_FILE_BYTES="40").json
    assert (last["content"], last["truncated"], last["next_offset"]) == (text[80:], False, None)
    binary = skillhub("read", "one", "a.bin", "--json").json
    assert (binary["encoding"], base64.b64decode(binary["content"])) == ("base64", b"\0\xff\xfe")


def test_an_offset_leaves_out_what_stands_before_it(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one", files={"a.txt": "0123456789"})
    assert skillhub("read", "one", "a.txt", "--offset", "7").out == "789"
    assert skillhub("read", "one", "a.txt", "--offset", "-1").code == 2
    assert skillhub("read", "one", "a.txt", "--offset", "z").err.startswith("error: --offset must be a whole number")


def test_a_file_that_is_not_there_or_not_the_skills_is_refused(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (write_skill("one", files={"guide.md": "x"}) / "link").symlink_to(tmp_path / "secret.txt")
    missing = skillhub("read", "one", "giude.md", "--json")
    assert (missing.code, missing.out, missing.error["code"]) == (1, "", "FILE_NOT_FOUND")
    assert "guide.md" in missing.error["hint"]
    for path in ("../../secret.txt", tmp_path / "secret.txt", "link"):
        done = skillhub("read", "one", path, "--json")
        assert (done.code, done.out, done.error["code"]) == (1, "", "PATH_NOT_ALLOWED"), path


def test_a_text_in_utf_16_is_read_as_text_where_it_is_shown_and_stays_as_it_is_in_a_file(
    hub_environment: dict[str, str], skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    content = "会議録。\n".encode("utf-16")
    write_skill("one", files={"a.txt": content})
    shown = skillhub("read", "one", "a.txt", "--json").json
    assert (shown["encoding"], shown["content"]) == ("utf-16-le", content.decode("utf-16-le"))
    done = subprocess.run(
        [*SKILLHUB, "read", "one", "a.txt"], env=hub_environment, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == content


def test_nothing_for_a_file_is_told_in_the_words_of_a_shell(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    write_skill("one")
    done = skillhub("read", "one", "")
    assert (done.code, done.err) == (
        2,
        "error: FILE is empty\n\nhint: `skillhub show NAME` lists the files of a skill\n",
    )
