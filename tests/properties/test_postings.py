"""What an index answers is BM25F as a page of Python says it, whatever was changed, and wherever the segments lie."""

from __future__ import annotations

import io
import math
import string
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.inverted import encode_features, invert
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import terms
from skillhub_mcp.index.features import FIELDS, decode_features
from skillhub_mcp.index.impacts import ALL_FIELDS, WEIGHTS
from skillhub_mcp.index.segment import (
    InvertedSkills,
    Part,
    Segment,
    SegmentBuilder,
    read_segment,
    write_segment,
    write_update,
)
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.statistics import StatisticsBuilder

pytestmark = pytest.mark.slow

WORDS = ("stamp", "coin", "table", "query", "invoice", "draw", "walk", "café", "請求書")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
VECTORS = st.none() | st.tuples(*(st.floats(-1, 1, width=32) for _ in range(3)))
# Name, description, tags, category, body, and a vector.
SKILLS = st.tuples(st.sampled_from(WORDS[:8]), TEXTS, st.sampled_from(WORDS), st.sampled_from(WORDS), TEXTS, VECTORS)
DIRECTORIES = st.sampled_from([f"/library/{letter}" for letter in string.ascii_lowercase])
LIBRARIES = st.dictionaries(DIRECTORIES, SKILLS, max_size=12)
# Changed or new ones by directory, and removed ones.
CHANGES = st.lists(st.tuples(LIBRARIES, st.sets(DIRECTORIES, max_size=6)), max_size=3)
Library = Mapping[str, tuple[Any, ...]]


def fields_of(skill: tuple[Any, ...]) -> list[Counter[str]]:
    return [Counter(terms(text)) for text in skill[:5]]


def encoded(directory: str, skill: tuple[Any, ...]) -> bytes:
    name, description, tag, category, body, _ = skill
    made = make_skill(name, description, directory=directory, category=category, tags=[tag])
    return encode_features(made, body).encoded


def inverted(library: Library) -> InvertedSkills:
    features = [decode_features(encoded(directory, skill)) for directory, skill in library.items()]
    return invert(list(library), features, [skill[5] for skill in library.values()])


def written(library: Library) -> Segment:
    file, builder = io.BytesIO(), SegmentBuilder()
    for directory, skill in library.items():
        builder.add(directory, decode_features(encoded(directory, skill)), skill[5])
    write_segment(file, builder.parts(), table_id="id")
    return read_segment(file.getvalue(), "id")


def updated(segments: tuple[Segment, ...], changed: Library, removed: set[str], *, share: float) -> tuple[Segment, ...]:
    file = io.BytesIO()
    write_update(file, segments, [Part(inverted(changed))], removed=removed, version=1, table_id="id", share=share)
    last = read_segment(file.getvalue(), "id")
    return (last,) if last.base is None else (segments[0], last)


def index_of(segments: tuple[Segment, ...], library: Library) -> SkillIndex:
    builder = StatisticsBuilder()
    for directory, skill in library.items():
        builder.add(encoded(directory, skill), ())
    return SkillIndex(segments, builder.build(), version=1, table_id="id", open_table=pytest.fail)


def naive_impact(skill: tuple[Any, ...], term: str, mean_lengths: list[float], fields: frozenset[str]) -> float:
    frequency = 0.0
    for name, counts, mean in zip(FIELDS, fields_of(skill), mean_lengths, strict=True):
        if name in fields:
            share = WEIGHTS.normalised[name]
            frequency += WEIGHTS.fields[name] * counts[term] / (1 - share + share * counts.total() / mean)
    saturated = frequency / (WEIGHTS.k1 + frequency)
    return float((WEIGHTS.k1 + 1) * saturated**WEIGHTS.power)


@given(
    library=LIBRARIES,
    changes=CHANGES,
    share=st.sampled_from([0.0, 0.5, 9.0]),
    fields=st.sampled_from([ALL_FIELDS, ALL_FIELDS - {"body"}]),
)
def test_postings_are_bm25f(library: Library, changes: Any, share: float, fields: frozenset[str]) -> None:
    segments: tuple[Segment, ...] = (written(library),)
    for changed, removed in changes:
        gone = removed - changed.keys()
        segments = updated(segments, changed, gone, share=share)
        library = {**{one: skill for one, skill in library.items() if one not in gone}, **changed}
    index = index_of(segments, library)
    assert {directory for directory in index.directories if directory} == library.keys()
    mean_lengths = index.mean_lengths.tolist()
    if len(segments) == 1:
        lengths = [[counts.total() for counts in fields_of(skill)] for skill in library.values()]
        exact = [max(0.1, sum(own) / len(library)) for own in zip(*lengths, strict=True)] or [0.1] * len(FIELDS)
        assert mean_lengths == pytest.approx(exact)
    for term in {*terms(" ".join(WORDS)), "unheard"}:
        numbers, impacts = index.postings(term, fields=fields)
        assert (str(numbers.dtype), str(impacts.dtype)) == ("int32", "float32")
        assert (np.diff(numbers) > 0).all()
        found = dict(zip((index.directories[number] for number in numbers.tolist()), impacts.tolist(), strict=True))
        wanted = {
            directory: worth
            for directory, skill in library.items()
            if (worth := naive_impact(skill, term, mean_lengths, fields)) > 0.0
        }
        assert found == pytest.approx(wanted, abs=1e-3)
    check_details(index, library)


def check_details(index: SkillIndex, library: Library) -> None:
    """Counts, lengths, members and cosines are those of the skills."""
    asked = [number for number, directory in enumerate(index.directories) if directory][::-1]
    wanted = terms(" ".join(WORDS))
    found = index.occurrences(wanted, asked)
    counted = {
        (wanted[term], index.directories[asked[row]]): counts
        for term, row, counts in zip(
            found.term_indices.tolist(), found.rows.tolist(), found.counts.T.tolist(), strict=True
        )
    }
    assert counted == {
        (term, directory): counts
        for directory, skill in library.items()
        for term in wanted
        if any(counts := [field[term] for field in fields_of(skill)])
    }
    lengths = [[counts.total() for counts in fields_of(library[index.directories[number]])] for number in asked]
    assert index.lengths(asked).tolist() == lengths
    among = frozenset(sorted(library)[::2])
    assert {index.directories[number] for number in index.members(among).nonzero()[0].tolist()} == among
    for directory in library:
        number = index.number(directory)
        assert number is not None
        assert index.directories[number] == directory
    check_vectors(index, library, asked, among)


def check_vectors(index: SkillIndex, library: Library, asked: list[int], among: frozenset[str]) -> None:
    vector = [0.5, -0.5, 0.25]
    wanted = {
        directory: sum(a * b for a, b in zip(skill[5], vector, strict=True))
        for directory, skill in library.items()
        if skill[5] is not None
    }
    assert index.lacks_vectors == (index.dimension is None or len(wanted) < len(library))
    assert index.dimension == (3 if wanted else index.dimension)
    cosines = index.cosines(vector, asked).tolist()
    known = {index.directories[number]: one for number, one in zip(asked, cosines, strict=True) if not math.isnan(one)}
    assert known == pytest.approx(wanted, abs=1e-6)
    nearest = [index.directories[number] for number in index.nearest(vector, 3, among).tolist()]
    best = sorted((wanted[directory] for directory in among & wanted.keys()), reverse=True)[:3]
    assert [wanted[directory] for directory in nearest] == pytest.approx(best, abs=1e-6)
    assert among >= set(nearest)
