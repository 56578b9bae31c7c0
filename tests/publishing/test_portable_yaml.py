"""A value is typed if all YAML parsers agree on it; otherwise its key is reported as doubtful."""

from __future__ import annotations

import pytest
import yaml

from skillhub_mcp.publishing import portable_yaml
from skillhub_mcp.publishing.portable_yaml import Json, read_portable

LOADERS = [name for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name)]


@pytest.fixture(autouse=True, params=LOADERS)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with libyaml and with the pure Python parser."""
    monkeypatch.setattr(portable_yaml, "_Loader", getattr(yaml, request.param))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("plain text", "plain text"),
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("+7", 7),
        ("-12", -12),
        ("123456789012345", 123456789012345),
        ("1.10", 1.1),
        ("0.0", 0.0),
        ("3.141592653589793", 3.141592653589793),
        ("v1.2.3", "v1.2.3"),
        ("1.2.3", "1.2.3"),
        ("C#", "C#"),
        ("a#b", "a#b"),
        ("http://x.y:80/z", "http://x.y:80/z"),
        ("'yes'", "yes"),
        ('"1.10"', "1.10"),
        ('"a\\n\\u00e9"', "a\né"),
        ("'it''s'", "it's"),
        ("a\n  b", "a b"),
        ('"a\n  b"', "a b"),
        ("|-\n  a\n  b", "a\nb"),
        (">-\n  a\n  b", "a b"),
        ("[a, 1, true]", ["a", 1, True]),
        ("[\n  a,\n  b\n  ]", ["a", "b"]),
        ("\n  - a\n  - b", ["a", "b"]),
        ("\n- a\n- b", ["a", "b"]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("\n  a:\n    b: c", {"a": {"b": "c"}}),
        ("日本語 🧪", "日本語 🧪"),
    ],
    ids=repr,
)
def test_values_that_all_parsers_agree_on_are_typed(written: str, value: Json) -> None:
    read = read_portable(f"first: a\nkey: {written}\nlast: z\n")
    assert (dict(read.values), read.doubts) == ({"first": "a", "key": value, "last": "z"}, frozenset())
    assert type(read.values["key"]) is type(value)


@pytest.mark.parametrize(
    "written",
    [
        *("yes", "No", "on", "OFF", "y", "n", "tRUE", "nUll"),
        *("012", "0o17", "0x1F", "0b11", "1_000", "1,000", "9007199254740993", "1" * 5_000, "-0", "-0.0"),
        *("1e3", "1.5e+3", ".5", "5.", ".", "e1", "+.e1", ".inf", "-.INF", ".NaN", "0.0000001", f"{'9' * 400}.5"),
        *("1:30", "190:20:30.15", "2024-01-01", "2024-1-1", "2001-12-14 21:59:43.10 -5", "<<", "="),
    ],
    ids=lambda text: text[:20],
)
def test_a_scalar_that_some_parser_does_not_read_as_text_is_doubtful_text(written: str) -> None:
    read = read_portable(f"key: {written}\nother: a\n")
    assert (dict(read.values), set(read.doubts)) == ({"key": written, "other": "a"}, {"key"})


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("key: &x a\n", id="anchor"),
        pytest.param("key: !!str 5\n", id="tag"),
        pytest.param("key: ! a\n", id="bare tag"),
        pytest.param("key: a\nkey: b\n", id="key twice"),
        pytest.param("key: {a: 1, a: 2}\n", id="nested key twice"),
        pytest.param("key: {1: a}\n", id="number as key"),
        pytest.param("key: {yes: a}\n", id="yes as key"),
        pytest.param("key: {? [a] : b}\n", id="list as key"),
        pytest.param('key: "a\nb"\n', id="quoted text that is not indented"),
        pytest.param("key:\n  inner: 'a\n b'\n", id="quoted text that is indented less than its key"),
        pytest.param("key: [a\n, b]\n", id="list that is not indented"),
        pytest.param("key: [a: b]\n", id="pair in a list"),
        pytest.param("key:\n>-\n a\n", id="block that is not indented"),
        pytest.param("key: |\n  a\n", id="block whose last line may end the frontmatter"),
        pytest.param("key: |+\n  a\n\n", id="block that keeps the frontmatter's last lines"),
        pytest.param("key:\n  inner: >\n    a\n", id="nested block at the end"),
    ],
)
def test_syntax_on_which_parsers_disagree_makes_its_key_doubtful(written: str) -> None:
    assert read_portable(f"first: a\n{written}").doubts == {"key"}


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("--- # again\nkey: a\n", id="explicit document start"),
        pytest.param("%YAML 1.1\n---\nkey: a\n", id="directive"),
        pytest.param('key: "a\x85b"\n', id="next line"),
        pytest.param('key: "a\u2028b"\n', id="line separator"),
        pytest.param('key: "a\tb"\n', id="tab"),
        pytest.param('key: "a\rb"\n', id="carriage return"),
        pytest.param("key: a\n# \ufeff\n", id="byte order mark"),
    ],
)
def test_syntax_that_affects_the_whole_frontmatter_makes_every_key_doubtful(header: str) -> None:
    assert "" in read_portable(header).doubts


@pytest.mark.parametrize("header", ["key:\ta\n", "key: a\t\n", "key: >-#\n  a\n", "key: a # \t c\n"])
def test_a_value_that_one_parser_rejects_is_doubtful(header: str) -> None:
    try:
        doubts = read_portable(header).doubts
    except yaml.YAMLError:
        return
    assert "" in doubts


@pytest.mark.parametrize("header", ["", "\n", "# nothing\n", "- a\n- b\n", "just text\n"])
def test_frontmatter_that_is_not_a_map_has_no_values(header: str) -> None:
    assert dict(read_portable(header).values) == {}
