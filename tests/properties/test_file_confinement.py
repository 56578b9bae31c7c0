"""Any path reads only the skill's own files, and the chunks of a file join to its bytes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traversal import LINKS_OUT, NEVER_DECODED, REFUSED, SECRET, plant

from skillhub_mcp.errors import SkillHubError
from skillhub_mcp.skills.files import confinement
from skillhub_mcp.skills.files.content import FileContent, ReadLimits, read_file
from skillhub_mcp.skills.files.paths import WantedFile

pytestmark = pytest.mark.slow

OWN = {"# Guide\n", "---\nname: a\ndescription: The first skill\n---\n# A\n"}

ODD_NAMES = ("", " ", "\0", ".", "..", "~", "C:", ".env", ".git", "secret.md", "to-b", "parent", "evil", "chain.md")
NAMES = st.sampled_from(
    (*ODD_NAMES, "references", "guide.md", "SKILL.md", "config", "a", "b", "a-evil", "skills", "skills-evil")
)
SEPARATORS = st.sampled_from(["/", "\\", "//", "/./", "/../"])
JOINED = st.lists(st.tuples(NAMES, SEPARATORS), max_size=8).map(lambda pairs: "".join(a + b for a, b in pairs)[:-1])
ANYTHING = st.text(st.characters(), max_size=80)
KNOWN = st.sampled_from([hostile.path for hostile in (*REFUSED, *NEVER_DECODED, *LINKS_OUT)])


@pytest.fixture(scope="module")
def skill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("confinement"))


@pytest.mark.acceptance("S2-28", "S2-29", "S2-30", "S2-31")
@given(
    path=JOINED | ANYTHING | KNOWN | st.tuples(KNOWN, JOINED).map("/".join),
    opener=st.sampled_from([confinement.open_by_descriptors, confinement.open_by_resolved_path]),
)
def test_any_path_gives_a_file_of_the_skill_or_an_expected_error(
    skill: Path, path: str, opener: Callable[[str, WantedFile], int]
) -> None:
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(confinement, "open_confined", opener)
            answer = read_file(skill, path, skill="a", limits=ReadLimits(max_bytes=1_000))
    except SkillHubError as error:
        text = f"{error.message} {error.hint} {error.facts}"
    else:
        assert answer.content in OWN
        return
    assert SECRET not in text


def parts_of(content: bytes, max_bytes: int) -> list[FileContent]:
    parts: list[FileContent] = []
    with TemporaryDirectory() as directory:
        Path(directory, "file").write_bytes(content)
        offset: int | None = 0
        while offset is not None:
            limits = ReadLimits(max_bytes=max_bytes)
            part = read_file(directory, "file", skill="a", limits=limits, offset=offset)
            assert part.truncated == (part.next_offset is not None)
            assert (part.offset, part.size) == (offset, len(content))
            assert part.next_offset is None or part.next_offset > offset, "every part makes progress"
            parts.append(part)
            offset = part.next_offset
    return parts


def stored(part: FileContent) -> bytes:
    if part.encoding == "utf-8":
        return part.content.encode()
    return base64.b64decode(part.content, validate=True)


@pytest.mark.acceptance("S2-32")
@given(
    text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("aé見🎌")),
    max_bytes=st.integers(1, 40),
)
def test_parts_of_a_text_join_to_it(text: str, max_bytes: int) -> None:
    parts = parts_of(text.encode(), max_bytes)
    assert {part.encoding for part in parts} == {"utf-8"}
    assert "".join(part.content for part in parts) == text
    for part in parts:
        assert len(part.content.encode()) <= (max_bytes if max_bytes >= 4 else max_bytes + 3)


@pytest.mark.acceptance("S2-32", "S2-34")
@given(
    pieces=st.lists(st.binary(max_size=6) | st.sampled_from([b"\0", "見積".encode(), "é".encode(), b"\x81", b"\xe3"])),
    max_bytes=st.integers(1, 20),
)
def test_parts_of_any_bytes_join_to_them(pieces: list[bytes], max_bytes: int) -> None:
    # Without the mark of UTF-16, which is decoded.
    content = b"-" + b"".join(pieces)
    parts = parts_of(content, max_bytes)
    assert b"".join(stored(part) for part in parts) == content
    for part in parts:
        assert len(stored(part)) <= (max_bytes if max_bytes >= 4 else max_bytes + 3)
