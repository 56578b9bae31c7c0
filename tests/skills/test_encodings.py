"""A text that is not UTF-8 is read in its encoding, or in none: never as another text."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from tests.texts import ENCODINGS, TEXTS

from skillhub_mcp.skills import encodings
from skillhub_mcp.skills.encodings import SAMPLE_BYTES, Detected, detect, one_of
from skillhub_mcp.skills.frontmatter import decode, header_end, parse

ENGLISH = "# How\n\nRun `scripts/make.py --out report.md`, then read the table.\n\n- step one\n- step two\n"


def skill_file(description: str, *, body: str = ENGLISH) -> str:
    return f"---\nname: demo\ndescription: '{description}'\n---\n{body}"


def reading(content: bytes) -> str | None:
    found = detect(content)
    return content.decode(found.encoding.codec) if found.encoding else None


@pytest.mark.parametrize(("language", "codec", "name"), ENCODINGS)
def test_a_skill_in_its_writers_encoding_is_read_wherever_its_text_is(language: str, codec: str, name: str) -> None:
    for text in TEXTS[language]:
        for written in (skill_file(text), skill_file("Does it. Use when due.", body=f"# {text}\n{ENGLISH}"), text):
            content = written.encode(codec)
            found = detect(content)
            assert found.encoding is not None, text
            assert found.encoding.name == name
            assert found.likely[0] == name
            assert content.decode(found.encoding.codec) == written


@pytest.mark.parametrize(("language", "codec", "name"), ENCODINGS)
def test_the_beginning_of_a_text_is_read_right_or_not_at_all(language: str, codec: str, name: str) -> None:
    read = tried = 0
    for text in TEXTS[language]:
        for length in (6, 8, 12, 16, 25, 50):
            written = skill_file(text[:length])
            content = written.encode(codec)
            if content.isascii():
                continue
            tried += 1
            found = reading(content)
            assert found in (None, written)
            read += found is not None
            assert found is not None or name in detect(content).likely or language in ("de", "fr")
    assert read >= tried * 0.75


def test_only_as_much_is_looked_at_as_is_needed() -> None:
    line = "会議の議事録を作成する。\n"
    content = ("# ASCII\n" * 20_000 + line * 20_000).encode("cp932")
    seen = content[encodings.sampled(content)]
    assert seen.startswith(line.encode("cp932"))
    assert seen.endswith(b"\n")
    assert len(seen) <= SAMPLE_BYTES
    assert reading(content) == content.decode("cp932")
    assert reading(("会議の議事録を作成する。" * 20_000).encode("euc_jp")) == "会議の議事録を作成する。" * 20_000


def test_what_no_encoding_can_hold_is_binary_and_is_not_handed_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_readings", None)
    for content in (b"\x89PNG\r\n\x1a\n\xff\xfe", b"\xff\x01\xfe", b"\x1f\x8b\x08\x08" + b"\xff" * 50, b"ascii"):
        assert detect(content) == Detected(None)


def test_random_bytes_are_no_text() -> None:
    chance = random.Random(20_261_122)
    letters = [*range(32, 127), *range(128, 256), 10]
    for length in (40, 100, 1_000):
        for _ in range(100):
            assert detect(bytes(chance.choices(letters, k=length))).encoding is None


def test_a_reading_that_no_one_would_write_is_none() -> None:
    # In these bytes Windows-1252 and others see signs and capitals within words.
    for written in ("fŸhrt BeschlŸsse auf", "Za¿ó³æ gêœl¹", "Does a task. G™gg", "rŽsumŽ et dŽcision"):
        found = detect(written.encode("cp1252"))
        assert found.encoding is None or written != written.encode("cp1252").decode(found.encoding.codec)


def test_each_real_skill_stays_utf_8_and_is_never_handed_to_the_library(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: bytes) -> Detected:
        raise AssertionError

    monkeypatch.setattr("skillhub_mcp.skills.frontmatter.detect", never)
    files = list(corpus.rglob("SKILL.md"))
    assert len(files) > 2_000
    for file in files:
        content = file.read_bytes()
        text, found = decode(content)
        assert found == []
        assert text == content.decode("utf-8-sig")


# SKILL.md


@pytest.mark.parametrize(("language", "codec", "name"), ENCODINGS)
def test_the_frontmatter_alone_says_what_the_whole_file_says(language: str, codec: str, name: str) -> None:
    for text in TEXTS[language]:
        content = skill_file(text, body=f"# {text}\n{ENGLISH * 2_000}").encode(codec)
        end = header_end(content, whole=True)
        assert end is not None
        assert len(content) > end <= SAMPLE_BYTES + 100
        assert header_end(content[: end // 2], whole=False) is None
        start, whole = parse(content[:end]), parse(content)
        assert whole.values == start.values == {"name": "demo", "description": text}
        assert [each.message for each in start.diagnostics] == [f"the file is encoded as {name}"]
        assert start.diagnostics == whole.diagnostics
        assert whole.diagnostics[0].line == 3


def test_an_unclear_encoding_is_refused_with_those_that_would_fit() -> None:
    # Some Chinese words are Japanese ones in the other encoding.
    document = parse(skill_file("会議録作成").encode("euc_jp"))
    (found,) = document.diagnostics
    assert (document.values, document.body) == (None, "")
    assert (found.rule, found.line) == ("file-encoding-unclear", 3)
    assert found.message.startswith("the file is not UTF-8, and may be ")
    assert "EUC-JP" in found.message
    assert "iconv -f" in found.hint


def test_a_file_that_changes_its_encoding_is_refused() -> None:
    text = TEXTS["ja"][0]
    content = (skill_file(text) + "ok\n" * SAMPLE_BYTES).encode("cp932") + text.encode("euc_jp")
    (found,) = parse(content).diagnostics
    assert found.rule == "file-encoding-unclear"
    assert "starts as Shift_JIS" in found.message


@pytest.mark.parametrize("damage", [b"\x81", b"\xff", b"\xe4\xbc", b"\xe9"])
def test_a_few_damaged_bytes_of_utf_8_cost_those_characters_alone(damage: bytes) -> None:
    content = skill_file(TEXTS["ja"][0]).encode() + b"\n" + damage + "最後の行。\n".encode()
    document = parse(content)
    assert document.values == {"name": "demo", "description": TEXTS["ja"][0]}
    assert document.body.endswith("\n\ufffd最後の行。\n")
    assert [(each.rule, each.line) for each in document.diagnostics] == [("file-damaged", 12)]


def test_encodings_are_named_as_a_choice() -> None:
    assert [one_of(names) for names in (["A"], ["A", "B"], ["A", "B", "C"])] == ["A", "A or B", "A, B or C"]


def test_the_library_has_nothing_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect(b"\xe9t\xe9").likely
