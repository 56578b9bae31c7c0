"""The features of a skill: encoded and decoded."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.encoded import encode_features
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import term_counts, terms
from skillhub_mcp.index import features
from skillhub_mcp.index.features import (
    FIELDS,
    SkillFeatures,
    TermCounter,
    decode_features,
    hash_term,
    short_words,
    unpack_counts,
)
from skillhub_mcp.skills.model import Skill

# What the bits of each field hold.
MOST = (31, 127, 31, 7, 4_095)
WORDS = ("one", "Two", "PDF", "pdf", "C#", "請求書")
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)
SKILL = make_skill("pdf-invoice", "Extract invoices from a PDF.", category="finance", tags=("billing", "pdf"))


def counts(features: SkillFeatures, term: str) -> list[int]:
    """How often a term occurs in each field."""
    (place,) = (features.hashes == hash_term(term)).nonzero()[0].tolist()
    found: list[int] = unpack_counts(features.counts)[:, place].tolist()
    return found


def test_a_term_stands_where_it_was_written_and_as_often() -> None:
    found = decode_features(encode_features(SKILL, "pdf pdf body").encoded)
    assert found.lengths.tolist() == [2, 3, 2, 1, 3]
    assert counts(found, "pdf") == [1, 1, 1, 0, 2]
    assert counts(found, "financ") == [0, 0, 0, 1, 0]


def test_a_count_beyond_its_bits_stays_the_most_that_they_hold() -> None:
    skill = make_skill("x", "word " * 1_000)
    assert counts(decode_features(encode_features(skill, "word " * 20_000).encoded), "word") == [0, 127, 0, 0, 4_095]


def plainly(skill: Skill, body: str) -> dict[int, list[int]]:
    """The occurrences of each term in each field, one field after the other."""
    found: dict[int, list[int]] = {}
    fields = (skill.name, skill.description, " ".join(skill.tags), skill.category or "", body)
    for field, text in enumerate(fields):
        for term, count in term_counts(text).items():
            found.setdefault(hash_term(term), [0] * len(FIELDS))[field] = min(count, MOST[field])
    return found


@given(st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS, max_size=2), TEXTS), max_size=4))
def test_skills_counted_at_once_have_the_terms_that_each_has(texts: list[tuple[str, str, list[str], str]]) -> None:
    skills = [(make_skill("x", about, category=cat, tags=tags), body) for about, cat, tags, body in texts]
    counted = TermCounter().count(skills)
    numbers, begins = counted.encoded()
    for number, (skill, body) in enumerate(skills):
        found = decode_features(numbers[begins[number] : begins[number + 1]].tobytes())
        by_term = dict(zip(found.hashes.tolist(), unpack_counts(found.counts).T.tolist(), strict=True))
        assert by_term == plainly(skill, body)
        fields = (skill.name, skill.description, " ".join(skill.tags), skill.category or "", body)
        assert found.lengths.tolist() == [len(terms(text)) for text in fields]
        assert found.hashes.tolist() == sorted(found.hashes.tolist())
    words = [short_words((skill.name, skill.description, *skill.tags)) for skill, _ in skills]
    assert counted.words == Counter(word for own in words for word in own)


def test_what_is_kept_of_words_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_KEPT_PIECES", 3)
    counter = TermCounter()
    bodies = [" ".join(f"word{number}" for number in range(at, at + 5)) for at in range(0, 20, 5)]
    found = [counter.count([(SKILL, body)]) for body in bodies]
    assert [one.hashes.tolist() for one in found] == [
        TermCounter().count([(SKILL, body)]).hashes.tolist() for body in bodies
    ]
    assert len(counter._hashes) <= 3


def test_features_that_were_stored_with_phrases_can_still_be_read() -> None:
    encoded = bytearray(encode_features(SKILL, "body").encoded)
    encoded[24:28] = (2).to_bytes(4, "little")
    found = decode_features(bytes(encoded) + b"phrases!")
    assert counts(found, "pdf") == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("kept", [0, 4, 20, 27, 28, -4, -1])
def test_features_that_were_cut_are_refused(kept: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - numpy says it in its way
        decode_features(encode_features(SKILL, "body").encoded[:kept])


def test_words_are_kept_as_written_for_correcting_queries() -> None:
    assert short_words(["Automatically sorts a PDF", "請求"]) == {"automatically", "sorts", "pdf", "請求"}
