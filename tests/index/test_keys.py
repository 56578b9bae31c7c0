"""Keys of skills on disk, and the labels of roots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.index.keys import LibraryKeys, RootKeys, free_label, label_of

HUB = RootKeys("hub", "/library")


@pytest.mark.parametrize(
    ("directory", "key"),
    [
        ("/library", "hub"),
        ("/library/a", "hub/a"),
        ("/library/team/a b", "hub/team/a b"),
        ("/library/e\u0301", "hub/e\u0301"),
        ("/library/hub", "hub/hub"),
        ("/linked/elsewhere", "hub//linked/elsewhere"),
        ("/library-2/a", "hub//library-2/a"),
    ],
)
def test_a_key_is_the_label_and_the_path_below_the_root_and_leads_back(directory: str, key: str) -> None:
    assert HUB.key(directory) == key
    assert HUB.directory(key) == directory
    assert label_of(key) == "hub"


def test_the_root_of_the_file_system_is_a_root_too() -> None:
    keys = RootKeys("hub", "/")
    assert [keys.directory(keys.key(path)) for path in ("/", "/a", "/a/b")] == ["/", "/a", "/a/b"]


@pytest.mark.parametrize("key", ["hub-2/a", "hubble", "", "user/a"])
def test_a_key_of_another_root_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=key or "^$"):
        HUB.directory(key)


def test_a_label_that_another_root_has_gets_a_number() -> None:
    assert free_label("hub", []) == "hub"
    assert free_label("hub", ["hub", "user"]) == "hub-2"
    assert free_label("hub", {"hub", "hub-2", "hub-4"}) == "hub-3"


parts = st.text(st.sampled_from("ab-/\n 2"), max_size=5)


@given(
    st.lists(st.tuples(st.sampled_from(["hub", "hub/", "hub//", "hub-2/", "", "hubble/"]), parts)),
    st.sampled_from(["/library", "/", "/li\nbrary"]),
    st.integers(0, 2),
)
def test_the_directories_of_many_keys_are_those_of_each(
    given_keys: list[tuple[str, str]], root: str, labels: int
) -> None:
    keys = LibraryKeys(dict([(root, "hub"), ("/second", "hub-2")][:labels]))
    asked = [start + rest for start, rest in given_keys]
    assert keys.directories(asked) == [keys.directory(key) for key in asked]
