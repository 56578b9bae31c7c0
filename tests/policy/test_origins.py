"""Where a rule or a choice was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.policy.origins import lines_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(VALUES)
def test_every_member_and_element_has_the_line_on_which_it_begins(value: object) -> None:
    # One line for each: what is indented is written so.
    text = json.dumps(value, indent=1)
    lines = text.split("\n")
    places = lines_of(text)

    def walk(inner: object, place: tuple[str | int, ...]) -> int:
        pairs = inner.items() if isinstance(inner, dict) else enumerate(inner) if isinstance(inner, list) else ()
        count = 0
        for key, member in pairs:
            line = lines[places[(*place, key)] - 1].strip()
            assert line.startswith(json.dumps(key) + ": ") if isinstance(inner, dict) else line
            if isinstance(inner, list) and not isinstance(member, dict | list):
                assert line.rstrip(",") == json.dumps(member)
            count += 1 + walk(member, (*place, key))
        return count

    assert walk(value, ()) == len(places)


def test_blanks_and_escapes_do_not_shift_a_line() -> None:
    text = '\n{ "a\\"}" :\n [ 1 ,\n\t{"b":"]\\n"}\r\n,[]] }\n'
    assert lines_of(text) == {('a"}',): 2, ('a"}', 0): 3, ('a"}', 1): 4, ('a"}', 1, "b"): 4, ('a"}', 2): 5}
