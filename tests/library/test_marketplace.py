"""The skills that the manifests of a marketplace and of plugins name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillhub_mcp.library.candidates import MARKETPLACE, PLUGIN, Candidates, candidates, inside
from skillhub_mcp.library.sources.directory_tree import DirectoryTree

Find = Callable[..., Candidates]


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """Return a function that finds the skills of a source with manifests; hidden ones need a manifest."""

    def found(*skills: str, manifests: Mapping[str, str], start: str = "") -> Candidates:
        text = "---\nname: {}\ndescription: Does it.\n---\n"
        files = {f"{path}/SKILL.md": text.format(os.path.basename(path)) for path in skills}
        for path, content in {**files, **manifests}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(content, encoding="utf-8")
        with closing(DirectoryTree(os.fspath(tmp_path))) as tree:
            return candidates(tree, start, name="source")

    return found


def marketplace(*plugins: object, **more: object) -> dict[str, str]:
    return {MARKETPLACE: json.dumps({"name": "tools", "plugins": list(plugins), **more})}


def paths(found: Candidates) -> list[str]:
    return [one.path for one in found.skills]


def test_a_plugin_has_its_listed_skills_and_those_in_its_directory(find: Find) -> None:
    manifests = marketplace({"name": "docs", "source": "./.tools/docs", "skills": ["./.skills/pdf", "./extra"]})
    skills = (".tools/docs/.skills/pdf", ".tools/docs/extra", ".tools/docs/skills/csv")
    assert paths(find(*skills, ".tools/docs/other", manifests=manifests)) == list(skills)


def test_plugins_may_share_a_root_and_one_may_be_the_source(find: Find) -> None:
    below = marketplace({"name": "docs", "source": "./docs"}, metadata={"pluginRoot": "./.plugins"})
    assert paths(find(".plugins/docs/skills/pdf", manifests=below)) == [".plugins/docs/skills/pdf"]
    itself = marketplace({"name": "all", "source": "./"}, {"name": "other"})
    manifests = {f"sub/{MARKETPLACE}": itself[MARKETPLACE]}
    assert paths(find("sub/skills/csv", ".skills/x", manifests=manifests, start="sub")) == ["sub/skills/csv"]


def test_skills_may_be_a_single_path(find: Find) -> None:
    assert paths(find(".more/pdf", manifests={PLUGIN: '{"name": "x", "skills": "./.more"}'})) == [".more/pdf"]


@pytest.mark.parametrize("path", ["../other", "/srv/other", "~/other", "a/../../b", "C:/x", "a\\..\\b"])
def test_paths_outside_the_source_are_reported_and_not_read(path: str, find: Find) -> None:
    plugins = {"name": "far", "source": path}, {"name": "near", "source": ".near"}
    own = {PLUGIN: json.dumps({"name": "own", "skills": [path, "./.ok"]})}
    found = find(".near/skills/a", ".ok/b", manifests=marketplace(*plugins) | own)
    assert paths(found) == [".near/skills/a", ".ok/b"]
    reason = f"names {path!r}, outside of the source"
    assert [(left.what, left.reason) for left in found.left_out] == [("far", reason), ("own", reason)]
    (left,) = find(manifests=marketplace({"name": "far"}, metadata={"pluginRoot": path}) | own).left_out[:1]
    assert (left.what, left.reason) == (MARKETPLACE, reason)


def test_an_impossible_path_is_reported_shortened(find: Find) -> None:
    """A manifest of one megabyte used to take minutes and was printed completely."""
    long = "a/" * 100_000
    for manifests in (
        marketplace({"name": "p"}, metadata={"pluginRoot": long}),
        marketplace({"name": "p", "source": long}),
        {PLUGIN: json.dumps({"name": "p", "skills": [long]}), **marketplace()},
    ):
        (left,) = find(manifests=manifests).left_out
        assert len(left.reason) < 300


@pytest.mark.parametrize(
    "source", [{"source": "github", "repo": "o/r"}, {"source": "npm", "package": "p"}, {"source": "url", "url": "x"}]
)
def test_a_plugin_from_elsewhere_is_reported(source: object, find: Find) -> None:
    (left,) = find(manifests=marketplace({"name": "far", "source": source})).left_out
    assert (left.what, left.reason) == ("far", "is elsewhere; add that source by itself")


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"plugins": 3}', "{}", "[" * 100_000])
def test_an_unreadable_manifest_is_reported(text: str, find: Find) -> None:
    (left,) = find(manifests={MARKETPLACE: text}).left_out
    assert (left.what, "cannot be read: " in left.reason) == (MARKETPLACE, True)


def test_a_plugin_that_is_not_an_object_is_reported(find: Find) -> None:
    found = find(".docs/skills/a", manifests={MARKETPLACE: '{"plugins": [1, {"name": "docs", "source": ".docs"}]}'})
    assert (paths(found), len(found.left_out)) == ([".docs/skills/a"], 1)


NAMES = st.sampled_from(["..", ".", "", "a", "b", "..."])


@given(top=st.lists(st.sampled_from("xyz"), max_size=3).map("/".join), path=st.lists(NAMES, max_size=8).map("/".join))
def test_paths_in_a_manifest_cannot_leave_the_source(top: str, path: str) -> None:
    there = inside(top, path)
    if there is not None:
        assert not {"..", "."} & set(there.split("/"))
        assert not there.startswith("/")
        assert inside("", there) == there
