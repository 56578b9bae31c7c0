"""Adding and removing our entry leaves the rest of a client's file as it was."""

# ruff: noqa: E501, ISC004 - a file is one text
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.files import CHANGED, CODEX, PLAIN, REFUSED, ClientFile

from skillhub_mcp.clients.editing import entries_in, with_entry, without_entry
from skillhub_mcp.clients.entries import entry_of
from skillhub_mcp.clients.model import StdioServer
from skillhub_mcp.clients.splice import InvalidText, drop_member, parse_json, put_member
from skillhub_mcp.clients.table import client_named

SERVER = StdioServer("/opt/bin/skillhub-mcp", ("--cwd", "/x"), {"LOG_LEVEL": "ERROR"})


def words_of(text: str) -> list[str]:
    """Return the words of a text without its commas, which a new member may move."""
    return text.replace(",", " ").replace("{", " { ").replace("}", " } ").split()


def is_within(part: list[str], whole: list[str]) -> bool:
    """Whether `whole` has the words of `part`, in their order."""
    rest = iter(whole)
    return all(word in rest for word in part)


@pytest.mark.parametrize("file", CHANGED, ids=lambda file: file.kind)
def test_adding_and_removing_the_entry_keeps_the_rest(file: ClientFile) -> None:
    client = client_named(file.client)
    entry = entry_of(client, SERVER)
    before = dict(entries_in(client, file.text))
    changed = with_entry(client, file.text, "skillhub", entry)
    assert dict(entries_in(client, changed)) == {**before, "skillhub": entry}
    assert is_within(words_of(file.text), words_of(changed))
    if "\r\n" in file.text and "mixed" not in file.kind:
        assert "\n" not in changed.replace("\r\n", "")
    gone = without_entry(client, changed, "skillhub")
    assert dict(entries_in(client, gone)) == before
    assert is_within(words_of(file.text), words_of(gone))
    if before and "braces" not in file.kind:
        assert gone.rstrip() == file.text.rstrip()
    assert with_entry(client, changed, "skillhub", entry) == changed


@pytest.mark.parametrize(("file", "reason"), REFUSED, ids=lambda value: getattr(value, "kind", ""))
def test_a_file_that_is_not_understood_is_not_changed(file: ClientFile, reason: str) -> None:
    client = client_named(file.client)
    with pytest.raises(InvalidText, match=reason):
        with_entry(client, file.text, "skillhub", entry_of(client, SERVER))


ENTRY: dict[str, Any] = {"command": "/opt/skillhub-mcp", "args": []}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "",
            '{\n  "mcpServers": {\n    "skillhub": {\n      "command": "/opt/skillhub-mcp",\n      "args": []\n    }\n  }\n}\n',
        ),
        ('{"mcpServers":{"a":1}}', '{"mcpServers":{"skillhub": {"command": "/opt/skillhub-mcp", "args": []}, "a":1}}'),
        (
            '{ "mcpServers": { "a": 1 } }',
            '{ "mcpServers": { "skillhub": {"command": "/opt/skillhub-mcp", "args": []}, "a": 1 } }',
        ),
        (
            '{\n\t"mcpServers": {\n\t\t"a": 1 // one\n\t\t// two\n\t}\n}',
            '{\n\t"mcpServers": {\n\t\t"skillhub": {\n\t\t\t"command": "/opt/skillhub-mcp",\n'
            '\t\t\t"args": []\n\t\t},\n\t\t"a": 1 // one\n\t\t// two\n\t}\n}',
        ),
        (
            '{\n    "mcpServers": {\n        "a": 1,\n    },\n}\n',
            '{\n    "mcpServers": {\n        "skillhub": {\n            "command": "/opt/skillhub-mcp",\n'
            '            "args": []\n        },\n        "a": 1,\n    },\n}\n',
        ),
        (
            '{\r\n  "x": 1\r\n}\r\n',
            '{\r\n  "mcpServers": {\r\n    "skillhub": {\r\n      "command": "/opt/skillhub-mcp",\r\n'
            '      "args": []\r\n    }\r\n  },\r\n  "x": 1\r\n}\r\n',
        ),
        (
            '{\n  "mcpServers": {}\n}\n',
            '{\n  "mcpServers": {\n    "skillhub": {\n      "command": "/opt/skillhub-mcp",\n      "args": []\n    }\n  }\n}\n',
        ),
    ],
)
def test_a_new_entry_follows_the_layout_of_the_file(before: str, after: str) -> None:
    assert with_entry(client_named("cursor"), before, "skillhub", ENTRY) == after


def test_removing_a_toml_table_keeps_the_next_tables_comment() -> None:
    codex = client_named("codex")
    changed = with_entry(codex, CODEX, "skillhub", entry_of(codex, SERVER))
    assert changed == CODEX + (
        '\n[mcp_servers.skillhub]\ncommand = "/opt/bin/skillhub-mcp"\nargs = ["--cwd", "/x"]\n'
        '\n[mcp_servers.skillhub.env]\nLOG_LEVEL = "ERROR"\n'
    )
    more = changed + "\n# and another\n[mcp_servers.other]\ncommand = 'x'\n"
    assert without_entry(codex, more, "skillhub") == CODEX + "\n# and another\n[mcp_servers.other]\ncommand = 'x'\n"


def test_a_toml_table_is_replaced_in_place_before_an_array_of_tables() -> None:
    codex = client_named("codex")
    text = '[mcp_servers."skillhub"]\ncommand = "old"\n\n[[rule]]\na = 1\n'
    changed = with_entry(codex, text, "skillhub", {"command": "new"})
    assert changed == '[mcp_servers.skillhub]\ncommand = "new"\n\n[[rule]]\na = 1\n'
    assert without_entry(codex, changed, "skillhub") == "\n[[rule]]\na = 1\n"


def test_an_entry_is_replaced_in_place() -> None:
    cursor = client_named("cursor")
    first = with_entry(cursor, PLAIN, "skillhub", {"command": "old"})
    last = with_entry(cursor, first, "zulu", {"command": "z"})
    changed = with_entry(cursor, last, "skillhub", ENTRY)
    assert list(entries_in(cursor, changed)) == ["zulu", "skillhub", "fetch"]
    assert without_entry(cursor, without_entry(cursor, changed, "skillhub"), "zulu") == PLAIN


def test_a_member_is_removed_with_its_comma() -> None:
    text = '{\n  "a": 1, // one\n  "b": 2,\n  // about c\n  "c": 3 // three\n}'
    assert drop_member(text, ["a"]) == '{\n  // one\n  "b": 2,\n  // about c\n  "c": 3 // three\n}'
    assert drop_member(text, ["b"]) == '{\n  "a": 1, // one\n  // about c\n  "c": 3 // three\n}'
    assert drop_member(text, ["c"]) == '{\n  "a": 1, // one\n  "b": 2\n  // about c\n  // three\n}'
    with pytest.raises(InvalidText, match="no d"):
        drop_member(text, ["d"])


# Arbitrary JSONC: any values, with white space and comments wherever they are allowed.
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
GAPS = st.sampled_from(["", " ", "\n", "\t", "\r\n  ", " /* , { */ ", '// } ",\n', "\n  // x\r\n "])


@st.composite
def texts(draw: st.DrawFn, value: object) -> str:
    """Return `value` as JSONC in an arbitrary layout."""

    def gap() -> str:
        return draw(GAPS)

    if isinstance(value, dict) and value:
        members = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{draw(texts(item))}{gap()}" for key, item in value.items()]
        return "{" + ",".join(members) + draw(st.sampled_from(["", ",", f",{gap()}"])) + "}"
    if isinstance(value, dict):
        return "{" + gap() + "}"
    if isinstance(value, list):
        return "[" + ",".join(f"{gap()}{draw(texts(item))}{gap()}" for item in value) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a file with or without servers, and its content."""
    content = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    if draw(st.booleans()):
        content["mcpServers"] = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    elif "mcpServers" in content:
        del content["mcpServers"]
    text = draw(GAPS) + draw(texts(content)) + draw(GAPS)
    return draw(st.sampled_from(["", "\ufeff"])) + text, content


def is_strict(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


@pytest.mark.slow
@given(files(), st.dictionaries(NAMES, VALUES, max_size=3))
def test_only_the_entry_changes_in_any_file(file: tuple[str, dict[str, Any]], entry: dict[str, Any]) -> None:
    text, content = file
    assert parse_json(text) == content
    changed = put_member(text, ["mcpServers", "skillhub"], entry)
    servers = content.get("mcpServers", {})
    expected = {**content, "mcpServers": {**servers, "skillhub": entry}}
    assert json.dumps(parse_json(changed), sort_keys=True) == json.dumps(expected, sort_keys=True)
    gone = drop_member(changed, ["mcpServers", "skillhub"])
    left = {name: value for name, value in servers.items() if name != "skillhub"}
    assert parse_json(gone) == {**content, "mcpServers": left}
    # A reader without comments and trailing commas can still read the file.
    assert not is_strict(text) or (is_strict(changed) and is_strict(gone))
    if servers and "skillhub" not in servers:
        assert gone.split() == text.split()


def test_toml_that_would_take_minutes_is_refused_unread() -> None:
    with pytest.raises(InvalidText, match=r"more than 1,048,576 characters"):
        entries_in(client_named("codex"), "# " + "x" * (1 << 20))
