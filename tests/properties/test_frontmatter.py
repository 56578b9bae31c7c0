"""Whatever the bytes: parsing never raises, and what was written is what is read."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import is_specified_name, safe_alias
from skillhub_mcp.skills.reading import allowed_tools

KEYS = st.from_regex(r"[a-z][a-z-]{0,10}", fullmatch=True)
# A NUL byte makes a file binary, which is another test.
BODY = st.characters(codec="utf-8", exclude_characters="\0")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)


@given(st.binary(max_size=400))
def test_any_bytes_are_taken_apart(content: bytes) -> None:
    parse(content)


@given(st.text(max_size=400), st.text(max_size=100))
def test_any_text_between_the_fences_is_taken_apart(header: str, body: str) -> None:
    document = parse(f"---\n{header}\n---\n{body}".encode("utf-8", "surrogatepass"))
    for diagnostic in document.diagnostics:
        assert diagnostic.line is None or 1 <= diagnostic.line <= header.count("\n") + body.count("\n") + 4


@given(st.dictionaries(KEYS, TEXTS | st.lists(TEXTS, max_size=3), min_size=1, max_size=5), st.text(BODY, max_size=200))
def test_what_was_written_is_what_is_read(values: dict[str, object], body: str) -> None:
    header = yaml.safe_dump(values, allow_unicode=True, default_style='"')
    content = f"---\n{header}---\n{body}".encode()
    document = parse(content)
    assert document.values == values
    assert document.body == body


@given(st.text(max_size=100))
def test_an_alias_is_its_own_alias(name: str) -> None:
    alias = safe_alias(name)
    assert safe_alias(alias) == alias
    assert alias == "" or is_specified_name(alias)


@given(st.text(max_size=100))
def test_splitting_tools_loses_nothing_but_separators(text: str) -> None:
    kept = "".join(allowed_tools(text))
    strip = str.maketrans("", "", ",")
    assert "".join(kept.translate(strip).split()) == "".join(text.translate(strip).split())
