"""What an index says of itself and of nobody; `tests/properties/test_postings.py` has what it says of its skills."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.search.builders import make_skill, row

from skillhub_mcp.index import mapped_arrays, skill_index
from skillhub_mcp.index.keys import PathKeys
from skillhub_mcp.index.lance_store import LanceStore
from skillhub_mcp.index.nearness_scale import nearness_scale
from skillhub_mcp.index.skill_index import SkillIndex

LIBRARY = [make_skill(f"skill-{number}", f"Sorts stamps and number{number}.") for number in range(40)]
ALL = frozenset(skill.directory for skill in LIBRARY)
DIMENSION = 4
SMAPS = Path("/proc/self/smaps")


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    drawn = np.random.default_rng(7).normal(size=(len(LIBRARY), DIMENSION)).astype(np.float32)
    unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, vectors: NDArray[np.float32]) -> SkillIndex:
    """An index in two segments: of the first skill's vector there are two, of which one is gone."""
    store = LanceStore(str(tmp_path_factory.mktemp("skills") / "db"))
    rows = [row(skill, vector=vector.tolist()) for skill, vector in zip(LIBRARY, vectors, strict=True)]
    version = store.rebuild(rows, dimension=DIMENSION)
    return store.open(store.update(rows[:1], removed=[], dimension=DIMENSION, published=version))


@pytest.fixture
def mapped(tmp_path: Path, vectors: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> SkillIndex:
    """An index of which nothing is read before somebody asks for it."""
    monkeypatch.setattr(mapped_arrays, "READ_BYTES", 0)
    store = LanceStore(str(tmp_path / "db"))
    rows = [row(skill, vector=vector.tolist()) for skill, vector in zip(LIBRARY, vectors, strict=True)]
    return store.open(store.rebuild(rows, dimension=DIMENSION))


def test_an_index_says_what_it_is(index: SkillIndex) -> None:
    assert index.dimension == DIMENSION
    assert not index.lacks_vectors
    assert index.statistics.skills == index.table.count() == len(LIBRARY)
    assert index.directories[0] == ""
    assert index.number(LIBRARY[0].directory) == len(LIBRARY)
    assert index.number("") is index.number("/nobody") is None


def test_a_skill_that_is_gone_is_in_no_answer(index: SkillIndex) -> None:
    assert 0 not in index.postings("stamp")[0]
    assert len(index.postings("stamp")[0]) == len(LIBRARY)
    assert index.occurrences(["stamp"], [0, 1]).rows.tolist() == [1]
    assert not index.members(ALL | {""})[0]
    assert 0 not in index.nearest([1.0, 0.0, 0.0, 0.0], 99, ALL)
    assert np.isnan(index.cosines([1.0, 0.0, 0.0, 0.0], [0, 1])).tolist() == [True, False]


def test_among_others_than_before_others_are_members(index: SkillIndex) -> None:
    some, others = frozenset(sorted(ALL)[:3]), frozenset(sorted(ALL)[5:9])
    for among in (some, others, some):
        assert {index.directories[number] for number in index.members(among).nonzero()[0].tolist()} == among
        assert {index.directories[number] for number in index.nearest([1.0] * DIMENSION, 99, among).tolist()} == among
    # Callers who ask by turns do not have it worked out each time.
    by_turns = [frozenset({one}) for one in sorted(ALL)[: skill_index._KEPT_MEMBERS]]
    first = list(map(index.members, by_turns))
    assert all(index.members(among) is known for among, known in zip(by_turns, first, strict=True))
    assert index.members(some) is not index.members(others)
    assert (index.members(by_turns[0]) == first[0]).all()
    with pytest.raises(ValueError, match="read-only"):
        index.members(some)[0] = True


def test_nobody_is_near_what_is_of_another_length_and_nothing_within_no_limit(index: SkillIndex) -> None:
    assert np.isnan(index.cosines([1.0], [1, 2])).all()
    assert index.nearest([1.0], 9, ALL).tolist() == []
    assert index.nearest([1.0] * DIMENSION, 0, ALL).tolist() == []
    assert index.nearest([1.0] * DIMENSION, 9, frozenset()).tolist() == []


def test_no_terms_and_no_skills_occur_nowhere(index: SkillIndex) -> None:
    for found in (index.occurrences([], [1]), index.occurrences(["stamp"], []), index.occurrences(["nobody"], [1])):
        assert found.counts.shape == (5, 0)
    assert index.lengths([]).shape == (0, 5)


def test_what_a_cosine_means_is_measured_on_the_vectors(
    index: SkillIndex, vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    assert index.nearness_scale == nearness_scale(vectors[1:])
    store = LanceStore(str(tmp_path / "db"))
    assert store.open(store.rebuild([row(LIBRARY[0])], dimension=None)).nearness_scale is None


@pytest.mark.slow
def test_an_index_keeps_nothing_of_the_keys_that_it_was_made_of(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    opened = store.open(store.rebuild([row(skill) for skill in LIBRARY], dimension=None), keys=_Named())
    assert len(opened.postings("stamp")[0]) == len(LIBRARY)
    keys = set(opened.row_keys())
    assert keys == ALL
    gc.collect()
    kept = [one for one in _reached_from(opened) if isinstance(one, str) and one in keys]
    assert kept == []


class _Named(PathKeys):
    """Keys that stand for directories that they are no part of, as those of a library do."""

    def directories(self, keys: Iterable[str]) -> list[str]:
        return [f"/elsewhere/{key.rpartition('/')[2]}" for key in keys]


def _reached_from(index: SkillIndex) -> Iterator[object]:
    """Yield what the parts of an index and its segments refer to."""
    for part in (*index._parts, *index.segments):
        for one in gc.get_referents(part):
            yield one
            for inner in gc.get_referents(one):
                yield inner
                yield from gc.get_referents(inner) if isinstance(inner, list | tuple) else ()


@pytest.mark.skipif(not SMAPS.exists(), reason="the system does not tell which pages of a file a process has")
def test_an_index_that_nobody_asks_gives_back_what_it_read_and_answers_as_before(
    mapped: SkillIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for _ in range(2):
        answers.append((mapped.postings("stamp")[0].tolist(), mapped.nearest([1.0, 0.0, 0.0, 0.0], 3, ALL).tolist()))
        monkeypatch.setattr(skill_index, "_IDLE_SECONDS", 60.0)
        mapped.rest()
        assert resident(tmp_path) > 0
        monkeypatch.setattr(skill_index, "_IDLE_SECONDS", 0.0)
        mapped.rest()
        assert resident(tmp_path) == 0
    assert answers[0] == answers[1]


@pytest.mark.skipif(not SMAPS.exists(), reason="the system does not tell which pages of a file a process has")
def test_what_was_read_to_learn_what_a_cosine_means_is_given_back(
    mapped: SkillIndex, tmp_path: Path, vectors: NDArray[np.float32]
) -> None:
    assert resident(tmp_path) > 0
    mapped.prepare([ALL])
    assert resident(tmp_path) == 0
    assert mapped.nearness_scale == nearness_scale(vectors)


def resident(directory: Path) -> int:
    """Return how many kilobytes of the files below a directory are in this process."""
    mapped = SMAPS.read_text().split(f" {directory}")[1:]
    return sum(int(re.findall(r"^Rss: +(\d+) kB$", one, re.MULTILINE)[0]) for one in mapped)
