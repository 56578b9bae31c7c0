"""The skill paths in a plugin manifest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.library.candidates import ManifestPlaces, NotFollowed, inside, marketplace_places, plugin_places


def marketplace(*plugins: object, **more: object) -> str:
    return json.dumps({"name": "tools", "plugins": list(plugins), **more})


def test_a_plugin_has_its_listed_skills_and_those_in_its_directory() -> None:
    text = marketplace({"name": "docs", "source": "./tools/docs", "skills": ["./skills/pdf", "./extra"]})
    assert marketplace_places(text, "") == ManifestPlaces(
        skills=["tools/docs/skills/pdf", "tools/docs/extra", "tools/docs/skills"], plugins=["tools/docs"]
    )


def test_plugins_may_share_a_root_and_one_may_be_the_source() -> None:
    below = marketplace({"name": "docs", "source": "./docs"}, metadata={"pluginRoot": "./plugins"})
    assert marketplace_places(below, "").plugins == ["plugins/docs"]
    itself = marketplace_places(marketplace({"name": "all", "source": "./"}, {"name": "other"}), "sub")
    assert itself.plugins == ["sub", "sub"]
    assert set(itself.skills) == {"sub/skills"}


def test_skills_may_be_a_single_path() -> None:
    assert plugin_places('{"name": "x", "skills": "./more"}', "a").skills == ["a/more", "a/skills"]


@pytest.mark.parametrize("source", ["../other", "/srv/other", "~/other", "a/../../b", "C:/x", "a\\..\\b"])
def test_paths_outside_the_source_are_reported_and_not_read(source: str) -> None:
    found = marketplace_places(marketplace({"name": "far", "source": source}, {"name": "near", "source": "near"}), "")
    assert found.plugins == ["near"]
    assert found.left_out == [NotFollowed("far", f"names {source!r}, outside of the source")]
    of_plugin = plugin_places(json.dumps({"name": "far", "skills": [source, "./ok"]}), "")
    assert of_plugin.skills == ["ok", "skills"]
    assert of_plugin.left_out == [NotFollowed("far", f"names {source!r}, outside of the source")]
    with pytest.raises(ValueError, match="outside of the source"):
        marketplace_places(marketplace({"name": "far"}, metadata={"pluginRoot": source}), "")


def test_an_impossible_path_is_reported_shortened() -> None:
    """A manifest of one megabyte used to take minutes and was printed completely."""
    long = "a/" * 100_000
    with pytest.raises(ValueError, match=r"^.{1,300}$"):
        marketplace_places(marketplace({"name": "p"}, metadata={"pluginRoot": long}), "")
    for found in (
        marketplace_places(marketplace({"name": "p", "source": long}), ""),
        plugin_places(json.dumps({"name": "p", "skills": [long]}), ""),
    ):
        (left,) = found.left_out
        assert len(left.reason) < 300
        assert max(map(len, found.skills), default=0) < 300


@pytest.mark.parametrize(
    "source", [{"source": "github", "repo": "o/r"}, {"source": "npm", "package": "p"}, {"source": "url", "url": "x"}]
)
def test_a_plugin_from_elsewhere_is_reported(source: object) -> None:
    found = marketplace_places(marketplace({"name": "far", "source": source}), "")
    assert found == ManifestPlaces(left_out=[NotFollowed("far", "is elsewhere; add that source by itself")])


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"plugins": 3}', "{}", "[" * 100_000])
def test_an_unreadable_manifest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|has no list of plugins|nested"):
        marketplace_places(text, "")


def test_a_plugin_that_is_not_an_object_is_reported() -> None:
    found = marketplace_places('{"plugins": [1, {"name": "docs", "source": "docs"}]}', "")
    assert (found.plugins, len(found.left_out)) == (["docs"], 1)


NAMES = st.sampled_from(["..", ".", "", "a", "b", "..."])


@given(top=st.lists(st.sampled_from("xyz"), max_size=3).map("/".join), path=st.lists(NAMES, max_size=8).map("/".join))
def test_paths_in_a_manifest_cannot_leave_the_source(top: str, path: str) -> None:
    there = inside(top, path)
    if there is not None:
        assert not {"..", "."} & set(there.split("/"))
        assert not there.startswith("/")
        assert inside("", there) == there
