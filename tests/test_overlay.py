"""A changed copy of a large mapping is in every way what a changed copy of a dict would be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp import overlay
from skillhub_mcp.overlay import Overlay, as_dict, changed_copy, changes_between, values_at_least

KEYS = st.sampled_from("abcdefgh")
CHANGES = st.dictionaries(KEYS, st.none() | st.integers(0, 9), max_size=4)


@pytest.fixture(autouse=True, scope="module")
def _small_ones_count_as_large() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlay, "LARGE", 0)
        patch.setattr(overlay, "_SHARE", 1)
        yield


def changed_dict(before: dict[str, int], changes: dict[str, int | None]) -> dict[str, int]:
    after: dict[str, int | None] = {**before, **changes}
    return {key: value for key, value in after.items() if value is not None}


@given(st.dictionaries(KEYS, st.integers(0, 9)), st.lists(CHANGES, max_size=4))
def test_it_has_what_a_dict_would_have(begin: dict[str, int], several: list[dict[str, int | None]]) -> None:
    mapping: Mapping[str, int] = begin
    expected = begin
    for changes in several:
        mapping, expected = changed_copy(mapping, changes), changed_dict(expected, changes)
        assert dict(mapping.items()) == expected == dict(mapping) == as_dict(mapping)
        assert mapping == expected
        assert len(mapping) == len(expected)
        assert list(mapping) == list(mapping.keys()) == [key for key, _ in mapping.items()]
        assert sorted(mapping.values()) == sorted(expected.values())
        assert {key: mapping.get(key, -1) for key in "abcdefgh"} == {key: expected.get(key, -1) for key in "abcdefgh"}
        assert [key in mapping for key in "abcdefgh"] == [key in expected for key in "abcdefgh"]
        assert set(values_at_least(mapping)) >= set(expected.values())
    for key in set("abcdefgh") - expected.keys():
        with pytest.raises(KeyError):
            mapping[key]


@given(st.dictionaries(KEYS, st.integers(0, 9)), CHANGES, CHANGES)
def test_what_two_copies_of_one_mapping_do_not_share_is_told(
    begin: dict[str, int], first: dict[str, int | None], second: dict[str, int | None]
) -> None:
    before = changed_copy(begin, first)
    after = changed_copy(before, second)
    told = changes_between(before, after)
    if told is not None:
        expected = {key: after.get(key) for key in {*before, *after} if before.get(key) != after.get(key)}
        assert told == expected
    assert changes_between(before, before) == {}


def test_a_few_changes_are_laid_over_and_many_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "_SHARE", 4)
    below = dict.fromkeys(range(16), 1)
    few = changed_copy(below, {3: 2, 20: 2})
    assert isinstance(few, Overlay)
    assert (list(few)[3], list(few)[-1], few[3], below[3]) == (3, 20, 2, 1)
    assert changes_between(below, few) == {3: 2, 20: 2}
    more = changed_copy(few, {3: None, 5: None, 6: 3})
    assert isinstance(more, dict)
    assert (len(few), len(more), 3 in more, few[3]) == (17, 15, False, 2)
    assert changes_between(few, more) is None


def test_a_small_mapping_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "LARGE", 17)
    assert isinstance(changed_copy(dict.fromkeys(range(16), 1), {3: 2}), dict)
