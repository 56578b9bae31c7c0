"""Keys of skills on disk, and the labels of roots."""

from __future__ import annotations

import pytest

from skillhub_mcp.index.state_file import LibraryKeys, free_label, label_of, make_key

HUB = LibraryKeys({"/library": "hub"})


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
def test_a_key_is_the_label_and_path_and_can_be_reversed(directory: str, key: str) -> None:
    assert make_key("hub", "/library", directory) == key
    assert HUB.directories([key]) == [directory]
    assert label_of(key) == "hub"


def test_the_file_system_root_can_be_a_root() -> None:
    places = ["/", "/a", "/a/b"]
    assert LibraryKeys({"/": "hub"}).directories([make_key("hub", "/", place) for place in places]) == places


@pytest.mark.parametrize("key", ["hub-2/a", "hubble", "", "user/a"])
def test_a_key_of_another_root_has_no_directory(key: str) -> None:
    assert HUB.directories([key]) == [""]


def test_a_label_in_use_gets_a_number() -> None:
    assert free_label("hub", []) == "hub"
    assert free_label("hub", ["hub", "user"]) == "hub-2"
    assert free_label("hub", {"hub", "hub-2", "hub-4"}) == "hub-3"
