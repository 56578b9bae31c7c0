"""What holds for every body and every budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.disclosure.reader import split_body

BODIES = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\n\r é請🦀")), max_size=400)
# The smallest budget is the longest character: the settings allow no less.
BUDGETS = st.integers(min_value=4, max_value=200)


@given(BODIES, BUDGETS)
def test_parts_join_to_the_whole_within_the_budget_and_end_with_a_line_if_possible(body: str, max_bytes: int) -> None:
    parts = split_body(body, max_bytes=max_bytes)
    assert "".join(parts) == body
    assert parts == [""] if not body else all(parts)
    # Encoding strictly: half a character would have come as something else, or not at all.
    assert all(len(part.encode("utf-8")) <= max_bytes for part in parts)
    assert all(part.endswith("\n") or "\n" not in part for part in parts[:-1])
