"""A scan of named changes finds the same as a scan of everything, whatever happens to the tree."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skillhub_mcp.skills.admission import REGISTRY_LENIENT
from skillhub_mcp.skills.registry import Registry, RegistryIndex

NAMES = ("a", "b", ".hidden", "node_modules", "link")
DEPTH = 3
PLACES = st.lists(st.sampled_from(NAMES), min_size=1, max_size=DEPTH).map("/".join)
# Through a link that no walk follows, a file could be written outside every root, of which no event is sent.
SEEN = PLACES.filter(lambda place: not {".hidden", "node_modules"} & set(place.split("/")))
DEEDS = st.one_of(
    st.tuples(st.just("write"), PLACES, st.sampled_from(("one", "two", "Wild Name", "one\nversion: 2"))),
    st.tuples(st.just("spoil"), PLACES, st.just("")),
    st.tuples(st.just("remove"), PLACES, st.just("")),
    st.tuples(st.just("unlink"), PLACES, st.just("")),
    st.tuples(st.just("link"), SEEN, st.sampled_from(("store/one", "store/two", "store", "skills/a", "nowhere"))),
    st.tuples(st.just("link"), SEEN, st.sampled_from(("store/one", "store/two", "store"))),
    st.tuples(st.just("replace"), SEEN, st.sampled_from(("store/one", "store", "skills/b"))),
    st.tuples(st.just("store"), st.sampled_from(("one", "two")), st.sampled_from(("one", "three"))),
)


@pytest.fixture(scope="module")
def clock() -> list[int]:
    """Gives each file a time of its own, long ago: what counts as later must not hang on how fast a machine is."""
    return [1_000_000_000_123_456_789]


def put(directory: Path, name: str, clock: list[int]) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "SKILL.md"
        file.write_text(f"---\nname: {name}\ndescription: Written at {clock[0]}.\n---\n", encoding="utf-8")
    except OSError:
        # A file or a dangling link stands in the way: then nothing happens.
        return
    clock[0] += 1_000_000_000
    os.utime(file, ns=(clock[0], clock[0]))


def do(deed: tuple[str, str, str], top: Path, clock: list[int]) -> list[str]:
    """Do one thing to the tree below `top`, and return its path: as named, as it really is, and where it leads."""
    named = _done(deed, top, clock)
    return [str(named), os.path.join(os.path.realpath(named.parent), named.name), os.path.realpath(named)]


def _done(deed: tuple[str, str, str], top: Path, clock: list[int]) -> Path:
    what, where, how = deed
    place = top / "skills" / where
    if what in ("link", "replace", "remove"):
        _clear(place, whole=what != "link")
        if what != "remove" and not os.path.lexists(place) and place.parent.is_dir():
            place.symlink_to(top / how)
        return place
    # Outside every root only what is known already counts: a new file there may be linked from anywhere.
    file = (top / "store" / where if what == "store" else place) / "SKILL.md"
    if what == "write" or (what == "store" and file.is_file()):
        put(file.parent, how, clock)
    elif what == "spoil" and file.is_file():
        file.write_text("no frontmatter", encoding="utf-8")
        clock[0] += 1_000_000_000
        os.utime(file, ns=(clock[0], clock[0]))
    elif what == "unlink" and file.is_file():
        file.unlink()
    return file


def _clear(place: Path, *, whole: bool) -> None:
    """Remove a link, and with `whole` also a directory: so that a link may take its place at one stroke."""
    if place.is_symlink():
        place.unlink()
    elif whole and place.is_dir():
        shutil.rmtree(place)


def said(index: RegistryIndex) -> object:
    report = index.report
    # What a scan remembers of an unchanged file does not say by which of several links it was found that time.
    skills = [replace(skill, diagnostics=()) for skill in index.skills]
    return skills, report.digest, report.conflicts, report.found, report.valid


@pytest.mark.slow
@given(rounds=st.lists(st.lists(DEEDS, max_size=4), max_size=4))
# A link to itself in a skill's directory, which a walk may list before the SKILL.md.
@example(rounds=[[("write", "a/a", "one"), ("replace", "b", "skills/b"), ("replace", "a/a/b", "skills/b")]])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_named_changes_give_the_result_of_a_full_scan(
    rounds: list[list[tuple[str, str, str]]], clock: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(os.path.realpath(name))
        put(top / "store" / "one", "one", clock)
        put(top / "store" / "two", "stored", clock)
        put(top / "skills" / "a" / "b", "one", clock)
        registry = Registry([str(top / "skills")], admission=REGISTRY_LENIENT)
        registry.build_index()
        for deeds in rounds:
            changes = [path for deed in deeds for path in do(deed, top, clock)]
            named = registry.refresh_index(changes)
            fresh = Registry(registry.roots, admission=REGISTRY_LENIENT).build_index()
            assert said(named) == said(fresh)
        whole, fresh = registry.refresh_index(), Registry(registry.roots, admission=REGISTRY_LENIENT).build_index()
        assert said(whole) == said(fresh)
        assert whole.report.ignored_counts == fresh.report.ignored_counts
