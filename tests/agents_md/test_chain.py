"""The initial load of AGENTS.md: order, limits, and unusable files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents_md.conftest import Write

from skillhub_mcp.agents_md.chain import Chain, read_chain, truncate
from skillhub_mcp.agents_md.reminders import agents_context


def read(project: Path, *below: str, max_files: int = 32, max_bytes: int = 32_768) -> Chain:
    directories = [str(project), *(str(project / one) for one in below)]
    return read_chain(directories, root=str(project), max_files=max_files, max_bytes=max_bytes)


def texts(chain: Chain) -> list[str]:
    return [text for _, text in chain.files]


def messages(chain: Chain) -> list[str]:
    return [note.message for note in chain.notes]


@pytest.mark.acceptance("S1-11")
def test_files_are_read_once_from_the_root_down(project: Path, write: Write) -> None:
    write("", "root")
    write("a/b", "deep")
    write("sibling", "no")
    chain = read(project, "a", "a/b")
    assert texts(chain) == ["root", "deep"]
    assert chain.notes == ()


@pytest.mark.acceptance("S1-12")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"caf\xe9", "is not UTF-8; invalid bytes are shown as \ufffd"),
    ],
)
def test_empty_and_undecodable_files_give_a_note(project: Path, write: Write, content: bytes, message: str) -> None:
    write("", content)
    write("a", "good")
    chain = read(project, "a")
    assert texts(chain)[-1] == "good"
    assert messages(chain) == [message]
    assert ("caf\ufffd" in texts(chain)) is (content == b"caf\xe9")


@pytest.mark.acceptance("S1-12")
@pytest.mark.parametrize("odd", ["directory", "pipe", "dangling link", "loop"])
def test_only_regular_files_are_read(project: Path, write: Write, odd: str) -> None:
    path = project / "AGENTS.md"
    if odd == "directory":
        path.mkdir()
    elif odd == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path if odd == "loop" else project / "none")
    write("a", "good")
    assert texts(read(project, "a")) == ["good"]


def test_links_are_followed_only_inside_the_project(project: Path, write: Write, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the key", encoding="utf-8")
    (project / "AGENTS.md").symlink_to(tmp_path / "secret")
    (project / "docs").mkdir()
    (project / "docs" / "rules.md").write_text("shared", encoding="utf-8")
    (project / "a").mkdir()
    (project / "a" / "AGENTS.md").symlink_to(project / "docs" / "rules.md")
    chain = read(project, "a")
    assert texts(chain) == ["shared"]
    assert messages(chain) == ["is a link out of the project and is not followed"]


@pytest.mark.acceptance("S1-13")
def test_files_over_the_limit_are_named(project: Path, write: Write) -> None:
    for number, directory in enumerate(("", "a", "a/b")):
        write(directory, f"text {number}")
    chain = read(project, "a", "a/b", max_files=2)
    assert texts(chain) == ["text 0", "text 1"]
    assert [note.path for note in chain.notes] == [str(project / "a" / "b" / "AGENTS.md")]
    assert "read it yourself" in messages(chain)[0]


@pytest.mark.acceptance("S1-14")
def test_files_over_the_byte_budget_are_named(project: Path, write: Write) -> None:
    write("", "root")
    write("a", "nested")
    write("a/b", "x")
    write("a/b/c", " \n")
    chain = read(project, "a", "a/b", "a/b/c", max_bytes=7)
    assert texts(chain) == ["root", "nes"]
    assert [(os.path.relpath(note.path, project), note.message) for note in chain.notes] == [
        ("a/AGENTS.md", "is truncated to 3 of 6 bytes; read it for the rest"),
        ("a/b/AGENTS.md", "is not shown: the limit is 7 bytes; read it yourself"),
        ("a/b/c/AGENTS.md", "is empty"),
    ]
    assert f"{project}/a/AGENTS.md" in chain.seen
    assert f"{project}/a/b/AGENTS.md" not in chain.seen
    # If a file uses up the bytes, the next one is not shown.
    assert texts(read(project, "a", "a/b", max_bytes=10)) == ["root", "nested"]
    block = agents_context([(place.path, text) for place, text in chain.files], chain.notes)
    assert f"<note>{project}/a/b/AGENTS.md is not shown: the limit is 7 bytes; read it yourself</note>" in block


@pytest.mark.acceptance("S1-14")
def test_no_file_follows_the_one_that_exceeds_the_budget(project: Path, write: Write) -> None:
    write("", "root")
    write("a", "あい")
    write("a/b", "x")
    for max_bytes, shown in ((6, ["root"]), (7, ["root", "あ"]), (9, ["root", "あ"]), (10, ["root", "あい"])):
        chain = read(project, "a", "a/b", max_bytes=max_bytes)
        assert texts(chain) == shown
        assert messages(chain)[-1] == f"is not shown: the limit is {max_bytes} bytes; read it yourself"
        assert len(chain.notes) == (1 if max_bytes == 10 else 2)


@pytest.mark.acceptance("S1-14")
@given(text=st.text(), max_bytes=st.integers(0, 40))
def test_truncation_keeps_whole_characters(text: str, max_bytes: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    kept = truncate(text, max_bytes)
    assert text.startswith(kept)
    assert len(kept.encode()) <= max_bytes
    assert kept == text or len(text[: len(kept) + 1].encode()) > max_bytes


def test_byte_order_marks_and_carriage_returns_are_removed(project: Path, write: Write) -> None:
    write("", "\ufeffone\r\ntwo\r\n")
    assert texts(read(project)) == ["one\ntwo"]
