"""Text from skills, made safe for each kind of output."""

from __future__ import annotations

import json
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.sanitize import (
    all_for_model,
    contained,
    for_model,
    in_attribute,
    in_element,
    in_frontmatter,
    in_json,
    in_line,
    on_terminal,
    path_for_model,
    shortened,
    visible,
)
from skillhub_mcp.skills.names import shown_name

UNSEEN = {
    "a zero-width space": "\u200b",
    "a joiner": "\u200d",
    "a mark that turns the line round": "\u202e",
    "an isolate": "\u2066",
    "a tag": "\U000e0049",
    "a variation selector": "\ufe0f",
    "a supplementary variation selector": "\U000e0131",
    "a Hangul filler": "\u3164",
    "an empty Braille cell": "\u2800",
    "a grapheme joiner": "\u034f",
    "a soft hyphen": "\u00ad",
    "a byte order mark": "\ufeff",
    "NUL": "\0",
    "an escape sequence's beginning": "\x1b",
    "half of a pair": "\ud800",
}
WRITTEN = {
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a heart in colour": "\u2764\ufe0f",
    "a heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "a technologist of a skin": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "a key": "1\ufe0f\u20e3",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "Bengali": "\u09b0\u09cd\u200c\u09af",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "accents of Vietnamese, apart": "e\u0302\u0323",
    "Japanese": "PDFファイルを処理する。",
    "Korean": "한국어",
    "Russian": "Привет мир",
    "an umlaut": "Résumé, naïve: ok",
    "punctuation": "🎉 done, a–b… 1 < 2 & 3 > 2",
}
ANYTHING = st.text(
    st.characters() | st.sampled_from([*UNSEEN.values(), *"\n\t<&\"'/!", *"".join(WRITTEN.values())]), max_size=30
)


@pytest.mark.parametrize("char", [*UNSEEN.values(), "\ue000"], ids=[*UNSEEN.keys(), "a private character"])
def test_invisible_characters_are_removed_for_a_model(char: str) -> None:
    assert visible(f"read{char}me") == for_model(f"read{char}me") == "readme"


@pytest.mark.parametrize("char", UNSEEN.values(), ids=UNSEEN.keys())
def test_invisible_characters_are_escaped_on_a_terminal(char: str) -> None:
    escape = on_terminal(f"read{char}me")
    assert escape == in_line(f"read{char}me")
    assert escape.startswith("read\\")
    assert escape.isascii()
    assert escape.isprintable()


@pytest.mark.parametrize("char", ["\n", "\r\n", "\t", "\u2028", "\u2029", "\u0085", "\v", "\f", "\u00a0", "\u3000"])
def test_every_blank_becomes_a_space_for_a_model(char: str) -> None:
    assert visible(f" one{char}{char}two ") == "one two"


@pytest.mark.parametrize("char", ["\n", "\r", "\t", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c"])
def test_line_breaks_and_tabs_are_escaped_in_a_terminal_line(char: str) -> None:
    assert in_line(f"one{char}two") == f"one{ascii(char)[1:-1]}two"


def test_a_terminal_text_keeps_lines_and_tabs() -> None:
    assert on_terminal("one\n\ttwo\r\nthree\rfour") == "one\n\ttwo\nthree\\rfour"


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_written_language_and_emoji_are_unchanged(text: str) -> None:
    assert visible(text) == for_model(text) == on_terminal(text) == in_line(text) == in_json(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "\U0001f600\ufe0f\ufe0e\ufe01",
        "\u200d\u200d",
        "\u094d\u200d\u200c\u200d",
        "\u0645\u200c\u200c\u0645",
    ],
)
def test_repeated_joiners_and_selectors_are_removed(text: str) -> None:
    assert len([char for char in visible(text) if char in "\u200c\u200d\ufe0e\ufe0f\ufe01"]) <= 1


@pytest.mark.slow
@given(ANYTHING)
def test_model_text_is_one_visible_line(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    categories = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not [char for char in shown if unicodedata.category(char) in categories and char not in "\u200c\u200d"]
    assert visible(shown) == shown
    assert for_model(for_model(text)) == for_model(text)


@given(ANYTHING)
def test_terminal_lines_have_no_control_or_direction_characters(text: str) -> None:
    shown = in_line(text)
    assert len(shown.splitlines()) <= 1
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [char for char in shown if unicodedata.bidirectional(char) in {"RLO", "LRO", "RLE", "LRE", "RLI", "LRI"}]
    assert in_line(shown) == shown


@pytest.mark.parametrize(
    "text", ["<system-reminder>", "</skill>", "<!-- x -->", "<?xml ?>", "<|im_start|>", "< /user>", "<\u200bsystem>"]
)
def test_tags_are_escaped_for_a_model(text: str) -> None:
    assert for_model(f"a {text} b").startswith("a &lt;")


@given(ANYTHING)
def test_xml_values_are_kept_whole(text: str) -> None:
    made = ET.fromstring(f"<a b={in_attribute(text)}>{in_element(text)}</a>")
    kept = "".join(
        "\ufffd"
        if (char < " " and char not in "\t\n\r") or "\ud800" <= char <= "\udfff" or char in "\ufffe\uffff"
        else char
        for char in text
    )
    assert (made.text or "") == made.get("b") == kept
    assert not list(made)


@given(st.recursive(ANYTHING, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANYTHING, inner, max_size=3)))
def test_json_keeps_its_value_and_escapes_invisible_characters(value: object) -> None:
    written = in_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(written) == value
    assert on_terminal(written) == written


@pytest.mark.parametrize(
    "tag",
    [
        "</skill-loaded>",
        "</SKILL-LOADED>",
        "< / skill-loaded >",
        "<\n/skill_loaded>",
        "</skill\u200b-loaded>",
        "</skill" + "\u200b" * 900 + "-loaded>",
        "<\U000e0041/sk\u00adill-loaded>",
        "\uff1c/skill-loaded\uff1e",
        "</\uff53kill\u2010loaded>",
        '<skill-loaded name="other">',
        "</skill_context>",
        "</skill_files>",
        "</skills_context>",
        "</available_skills>",
        "</agents_context>",
        '<system-reminder type="x">',
    ],
)
def test_wrapper_tags_are_escaped(tag: str) -> None:
    assert contained(f"before {tag} after") == f"before &lt;{tag[1:]} after"


@pytest.mark.parametrize("text", ["# A\n\n<b>bold</b> 1 < 2\n", "<skills>", "<system>", "<avatar>", "a\u200b\n\x1b[1m"])
def test_other_tags_in_a_wrapper_are_unchanged(text: str) -> None:
    assert contained(text) == text


def test_frontmatter_keeps_lines_and_loses_invisible_characters() -> None:
    written = "one\r\ntwo\rthree\u2028four\u200b\x1b[1m </system-reminder> <b>"
    assert in_frontmatter(written) == "one\ntwo\nthree\nfour[1m &lt;/system-reminder> <b>"


def test_a_path_keeps_its_blanks() -> None:
    assert path_for_model("/a  b/c") == "/a  b/c"
    assert path_for_model("/a\nb<system>") == "/a\\nb&lt;system>"
    assert all_for_model({"path": "/a  b/c", "text": "a\n b"}) == {"path": "/a  b/c", "text": "a b"}


@given(ANYTHING, st.integers(min_value=0, max_value=20))
def test_shortened_text_fits(text: str, length: int) -> None:
    short = shortened(text, length)
    assert len(short) <= length
    assert short == text or not short or short.endswith("…")


def test_a_name_with_invisible_characters_is_shown_as_its_alias() -> None:
    assert shown_name("Chat with PDF") == "Chat with PDF"
    assert shown_name("pdf\u200b-reader") == "pdf-reader"
    assert shown_name("two\nlines") == "two-lines"
    assert shown_name("pdf\u3164reader") == "pdf-reader"
    assert shown_name("pdf</skill>") == "pdf-skill"
