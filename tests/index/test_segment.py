"""Skills inverted in a file: built in blocks or at once the same, and what cannot be is refused."""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.index.inverted import encode_features, invert
from tests.search.builders import make_skill

from skillhub_mcp.index import segment
from skillhub_mcp.index.features import SkillFeatures, decode_features, hash_term
from skillhub_mcp.index.impacts import WEIGHTS, FieldWeights
from skillhub_mcp.index.mapped_arrays import ArrayWriter
from skillhub_mcp.index.segment import (
    Part,
    Segment,
    SegmentBuilder,
    check_pair,
    read_segment,
    worth,
    write_segment,
    write_update,
)

WORDS = [f"word{number}" for number in range(80)]


def features_of(text: str) -> SkillFeatures:
    return decode_features(encode_features(make_skill("skill", text), "").encoded)


def library(count: int, seed: int = 7) -> list[tuple[str, SkillFeatures, list[float] | None]]:
    choose = random.Random(seed)
    return [
        (
            f"/library/{number}",
            features_of(" ".join(choose.choices(WORDS, k=choose.randint(0, 30)))),
            [choose.random(), choose.random()] if number % 3 else None,
        )
        for number in range(count)
    ]


def written(parts: Sequence[Part], table_id: str = "id") -> Segment:
    file = io.BytesIO()
    write_segment(file, parts, table_id=table_id)
    return read_segment(file.getvalue(), table_id)


def of(rows: Sequence[tuple[str, SkillFeatures, list[float] | None]]) -> Part:
    return Part(invert(*(list(column) for column in zip(*rows, strict=True))))


def content(one: Segment) -> dict[str, list[object]]:
    arrays = ("lengths", "embedded", "hashes", "starts", "owners", "counts", "vectors")
    found = {name: values.tolist() for name in arrays if (values := getattr(one.skills, name)) is not None}
    return found | {"directories": list(one.skills.keys), "impacts": one.impacts.tolist()}


def test_a_segment_built_in_blocks_is_the_same_as_one_built_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = library(100)
    whole = content(written([of(rows)]))
    monkeypatch.setattr(segment, "_RUN_POSTINGS", 64)
    monkeypatch.setattr(segment, "_BLOCK_POSTINGS", 16)
    monkeypatch.setattr(segment, "_BLOCK_ROWS", 7)
    builder = SegmentBuilder(tempfile.TemporaryFile)
    for row in rows:
        builder.add(*row)
    assert len(builder.parts()) > 3
    assert content(written(builder.parts())) == whole


def test_impacts_are_stored_within_a_small_part_of_what_they_are() -> None:
    one = written([of([("/a", features_of("one two two three three three"), None)])])
    # Of the only skill, every length is the mean: occurrences are what they are.
    hashes = [hash_term(term) for term in ("one", "two", "three")]
    times = np.array([1, 2, 3])[np.argsort(hashes)]
    of_the_description = worth(one.impacts)[np.isin(one.skills.hashes, hashes)]
    assert of_the_description.tolist() == pytest.approx(
        (9.0 * (6.0 * times / (8.0 + 6.0 * times)) ** 0.8).tolist(), abs=2e-4
    )


def test_a_segment_of_no_skills_is_one() -> None:
    one = written(SegmentBuilder().parts())
    assert (one.skills.keys, one.skills.vectors, len(one.skills.owners)) == ([], None, 0)


def test_names_of_any_characters_are_kept() -> None:
    names = ["/a b", "/c\nd", "/ünï", "/not-\udcff-utf8", ""]
    rows = [(name, features_of("one"), None) for name in names]
    assert written([of(rows)]).skills.keys == names


def test_vectors_of_two_lengths_are_refused() -> None:
    parts = [of([(f"/{length}", features_of("one"), [1.0] * length)]) for length in (2, 3)]
    with pytest.raises(ValueError, match="two lengths"):
        written(parts)


def test_a_segment_of_another_table_or_of_other_weights_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    write_segment(file, [of(library(3))], table_id="id")
    with pytest.raises(ValueError, match="another table"):
        read_segment(file.getvalue(), "other")
    monkeypatch.setattr(segment, "WEIGHTS", FieldWeights(k1=5.0))
    with pytest.raises(ValueError, match="other weights"):
        read_segment(file.getvalue(), "id")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("directories", b"/a"),
        ("directories", b"\xff\xfe"),
        ("lengths", np.zeros(3)),
        ("mean_lengths", np.zeros(5)),
        ("mean_lengths", np.full(5, np.nan)),
        ("embedded", np.ones(3)),
        ("embedded", np.ones(1)),
        ("starts", np.array([0, 5, 2])),
        ("starts", np.array([0, 1])),
        ("starts", np.array([-1, 1, 2])),
        ("hashes", np.array([2, 1])),
        ("owners", np.zeros(9)),
        ("counts", np.zeros(1)),
        ("impacts", np.zeros(0)),
        ("vectors", np.zeros(4)),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(name: str, wrong: object) -> None:
    arrays: dict[str, object] = {
        "directories": b"/a\0/b\0/c",
        "lengths": np.ones(15),
        "mean_lengths": np.ones(5),
        "embedded": np.zeros(3),
        "hashes": np.array([1, 2]),
        "starts": np.array([0, 1, 2]),
        "owners": np.array([0, 2]),
        "counts": np.ones(2),
        "impacts": np.ones(2),
        "gone": np.zeros(0),
        "vectors": np.zeros(0),
    }
    assert read_segment(made_of(arrays), "id").skills.keys == ["/a", "/b", "/c"]
    with pytest.raises(ValueError, match="damaged"):
        read_segment(made_of(arrays | {name: wrong}), "id")


def made_of(arrays: dict[str, object]) -> bytes:
    """A file of those arrays, with the checksums of what is in it."""
    file = io.BytesIO()
    writer = ArrayWriter(file, {name: (kind, 50) for name, kind in segment._KINDS.items()})
    for name, values in arrays.items():
        writer.append(name, np.frombuffer(values, dtype="|u1") if isinstance(values, bytes) else np.asarray(values))
    meta = {"table": "id", "weights": str(WEIGHTS), "skills": 3, "mark": "m", "base": None}
    writer.finish(meta)
    return file.getvalue()


def test_a_few_changes_are_an_addition_and_many_are_merged() -> None:
    base = written([of(library(100))])

    def after(changed: int, *before: Segment) -> Segment:
        file, new = io.BytesIO(), of(library(changed, seed=changed))
        write_update(file, before or (base,), [new], removed=["/library/99"], version=7, table_id="id")
        return read_segment(file.getvalue(), "id")

    few = after(1)
    check_pair(base, few)
    assert few.base == segment.Base(7, base.mark)
    assert (len(few.skills.keys), few.gone.tolist()) == (1, [0, 99])
    again = after(2, base, few)
    check_pair(base, again)
    assert (again.skills.keys, again.gone.tolist()) == (["/library/0", "/library/1"], [0, 1, 99])
    many = after(30, base, again)
    assert many.base is None
    assert sorted(many.skills.keys) == sorted(f"/library/{number}" for number in range(99))
    with pytest.raises(ValueError, match="addition to another"):
        check_pair(many, few)


def test_an_addition_that_follows_another_is_worth_what_one_of_all_its_skills_is() -> None:
    base = written([of(library(200))])

    def after(rows: list[tuple[str, SkillFeatures, list[float] | None]], *before: Segment) -> Segment:
        file = io.BytesIO()
        write_update(file, before or (base,), [of(rows)], removed=(), version=7, table_id="id")
        return read_segment(file.getvalue(), "id")

    first, second = library(4, seed=1), library(6, seed=2)[2:]
    followed, at_once = after(second, base, after(first)), after([*first[:2], *second])
    assert followed.skills.keys == at_once.skills.keys
    for name in ("hashes", "starts", "owners", "counts"):
        assert getattr(followed.skills, name).tolist() == getattr(at_once.skills, name).tolist()
    assert followed.impacts.tolist() == at_once.impacts.tolist()


def test_what_is_merged_is_compared_with_what_was_written() -> None:
    base = written([of(library(50))])
    wrong = {name: own ^ (name == "counts") for name, own in base.stored._checksums.items()}
    damaged = replace(base, stored=replace(base.stored, _checksums=wrong))
    with pytest.raises(ValueError, match="damaged"):
        write_update(io.BytesIO(), (damaged,), [of(library(30))], removed=(), version=7, table_id="id")
