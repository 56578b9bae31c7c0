"""For any values: names keep their alphabet, allowed tools lose no character, and parsing never raises."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from skillhub_mcp.skills.frontmatter import Value
from skillhub_mcp.skills.names import is_specified_name, safe_alias
from skillhub_mcp.skills.parser import MAX_NAME, allowed_tools, parse_skill

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.text(st.sampled_from("ab() ,\t\n*:"), max_size=40) | st.text(max_size=40)


@given(name=st.text())
@example(name="0:_0")
@example(name="İ")
@example(name="ϴΣ")
@example(name="a" * 63 + " b")
@example(name="가" * 80)
def test_an_alias_is_empty_or_a_specified_name_and_its_own_alias(name: str) -> None:
    alias = safe_alias(name)
    assert safe_alias(alias) == alias
    assert alias == "" or is_specified_name(alias)
    assert len(alias) <= 64


@given(name=st.text())
def test_a_specified_name_is_lower_case_letters_digits_and_single_hyphens(name: str) -> None:
    if is_specified_name(name):
        assert name == name.lower()
        assert all(part and part.isalnum() for part in name.split("-"))


@given(text=TOOLS)
def test_splitting_tools_loses_only_separators(text: str) -> None:
    separators = re.compile(r"[\s,]")
    tools = allowed_tools(text)
    # A list that was repaired is text with its brackets.
    assert separators.sub("", "".join(tools)) == separators.sub("", text.strip("[]"))
    assert all(tool in text for tool in tools)


@given(
    tools=st.lists(st.from_regex(r"[A-Za-z_]+(\([^()]*\))?", fullmatch=True)), comma=st.sampled_from([" ", ",", ", "])
)
def test_joined_tools_are_split(tools: list[str], comma: str) -> None:
    assert allowed_tools(comma.join(tools)) == tuple(tools)


@given(values=st.dictionaries(TEXT, VALUES, max_size=4), directory_name=TEXT)
def test_any_values_give_a_skill_or_a_reason(values: dict[str, Value], directory_name: str) -> None:
    for value in values.values():
        assert all(isinstance(tool, str) and tool == tool.strip() != "" for tool in allowed_tools(value))
    # JSON is YAML: so any values can be put into a file.
    header = _as_yaml({"name": None, "description": "d"} | values)
    reading = parse_skill(f"---\n{header}\n---\n".encode(), directory="/r/a", directory_name=directory_name)
    if reading.skill is None:
        assert reading.diagnostics
        return
    skill = reading.skill
    assert skill.name
    assert len(skill.name) <= MAX_NAME
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]|\s\s|^\s|\s$", skill.name)
    assert skill.description.strip() == skill.description != ""
    assert skill.category is None or skill.category == skill.category.strip() != ""
    assert len(set(skill.tags)) == len(skill.tags)
    skill.searchable_text.encode()


def _as_yaml(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {_as_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    return "~" if value is None else _quoted(str(value))


def _quoted(text: str) -> str:
    """Return `text` in double quotes, every character of it written as an escape; halves of characters left out."""
    return '"' + "".join(f"\\U{ord(c):08x}" for c in text if not "\ud800" <= c <= "\udfff") + '"'
