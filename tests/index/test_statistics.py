"""Corpus statistics: counted, changed, saved and loaded."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.encoded import EncodedFeatures, encode_features
from tests.search.builders import make_skill

from skillhub_mcp.index.statistics import Statistics, StatisticsBuilder, load_statistics, save_statistics

WORDS = ("invoice", "pdf", "table", "deploy", "chart", "walrus")


def features(number: int, chosen: list[str]) -> EncodedFeatures:
    return encode_features(make_skill(f"skill-{number}", " ".join(chosen)), "shared body")


def counted(found: list[EncodedFeatures]) -> Statistics:
    builder = StatisticsBuilder()
    for one in found:
        builder.add(one.encoded, one.words)
    return builder.build()


def same(one: Statistics, other: Statistics) -> bool:
    return (
        one.skills == other.skills
        and one.lengths.tolist() == other.lengths.tolist()
        and one.hashes.tolist() == other.hashes.tolist()
        and one.counts.tolist() == other.counts.tolist()
        and one.words == other.words
    )


LIBRARIES = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=12)


@pytest.mark.slow
@given(LIBRARIES, st.randoms(use_true_random=False))
def test_what_was_added_and_removed_again_leaves_no_trace(library: list[list[str]], chance: random.Random) -> None:
    found = [features(number, chosen) for number, chosen in enumerate(library)]
    kept = chance.sample(found, k=chance.randint(0, len(found)))
    builder = StatisticsBuilder(counted(found))
    for one in found:
        if one not in kept:
            builder.add(one.encoded, one.words, times=-1)
    assert same(builder.build(), counted(kept))


@pytest.mark.slow
@given(LIBRARIES, st.lists(st.sampled_from([*WORDS, "otter", "整理"]), max_size=4), st.booleans())
def test_one_changed_skill_of_many_is_counted_as_if_all_were(
    library: list[list[str]], now: list[str], asked: bool
) -> None:
    # So many terms that those of one are few among them.
    crowd = [features(number, [f"word{number}x{n}" for n in range(20)]) for number in range(100, 120)]
    found = [*crowd, *(features(number, chosen) for number, chosen in enumerate(library))]
    before = counted(found)
    if asked:
        before.speller.near("otterr")
    builder, new = StatisticsBuilder(before), features(500, now)
    builder.add(new.encoded, new.words)
    builder.add(found[-1].encoded, found[-1].words, times=-1)
    built, anew = builder.build(), counted([*found[:-1], new])
    assert same(built, anew)
    for word in ("otterr", "deploi", "invoicee"):
        assert built.speller.near(word) == anew.speller.near(word)


def test_a_term_is_counted_once_a_skill_and_rarer_ones_weigh_more() -> None:
    known = counted([features(1, ["pdf", "pdf", "table"]), features(2, ["pdf"]), features(3, [])])
    assert [known.frequency(word) for word in ("pdf", "tabl", "share", "nobody")] == [2, 1, 3, 0]
    assert known.rarity("share") < known.rarity("pdf") < known.rarity("tabl") < known.rarity("nobody")
    assert known.mean_lengths.tolist() == pytest.approx([2.0, 4 / 3, 0.1, 0.1, 2.0])


def test_they_are_read_as_they_were_written(tmp_path: Path) -> None:
    known = counted([features(number, list(WORDS[:number])) for number in range(7)])
    path = str(tmp_path / "statistics.npz")
    save_statistics(path, known, "c0ffee")
    assert same(load_statistics(path, "c0ffee"), known)
    assert [file.name for file in tmp_path.iterdir()] == ["statistics.npz"]
    save_statistics(path, StatisticsBuilder().build(), "c0ffee")
    assert load_statistics(path, "c0ffee").skills == 0


def test_those_of_another_table_are_not_taken(tmp_path: Path) -> None:
    path = str(tmp_path / "statistics.npz")
    save_statistics(path, StatisticsBuilder().build(), "c0ffee")
    with pytest.raises(ValueError, match="belongs to another table"):
        load_statistics(path, "decaf")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 half"])
def test_a_damaged_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "statistics.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged|npz|pickle"):
        load_statistics(str(path), "c0ffee")
