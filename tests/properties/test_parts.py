"""What holds for every body and every budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.disclosure.reader import split_body

BODIES = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\n\r é請🦀")), max_size=400)
# The smallest budget is the longest character: the settings allow no less.
BUDGETS = st.integers(min_value=4, max_value=200)


@given(BODIES, BUDGETS)
def test_parts_join_to_the_whole(body: str, max_bytes: int) -> None:
    assert "".join(split_body(body, max_bytes=max_bytes)) == body


@given(BODIES, BUDGETS)
def test_each_part_is_within_the_budget_and_splits_no_character(body: str, max_bytes: int) -> None:
    for part in split_body(body, max_bytes=max_bytes):
        # Encoding strictly: half a character would have come as something else, or not at all.
        assert len(part.encode("utf-8")) <= max_bytes


@given(BODIES, BUDGETS)
def test_only_an_empty_body_has_an_empty_part(body: str, max_bytes: int) -> None:
    parts = split_body(body, max_bytes=max_bytes)
    assert parts == [""] if not body else all(parts)


@given(BODIES, BUDGETS)
def test_a_part_ends_within_a_line_only_where_the_line_is_too_long(body: str, max_bytes: int) -> None:
    parts = split_body(body, max_bytes=max_bytes)
    for part in parts[:-1]:
        assert part.endswith("\n") or "\n" not in part
