"""BM25F over candidates: what it rewards, and that nothing else makes a difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.analysis.spelling import Speller
from skillhub_mcp.index.features import SkillFeatures, decode_features, encode_features, stack_terms
from skillhub_mcp.index.statistics import Statistics, StatisticsBuilder
from skillhub_mcp.search.query import Alternative, Clause, Query, TermOrigin, parse_query
from skillhub_mcp.search.scoring import ALL_FIELDS, contributions, score
from skillhub_mcp.skills.model import Skill

LIBRARY = (
    (make_skill("pdf-forms", "Fill out PDF forms."), "Read the fields first."),
    (make_skill("reader", "Reads aloud.", tags=("pdf",)), "Any file, a PDF form too."),
    (make_skill("painter", "Paints walls.", category="pdf"), "Mix the paint. " * 200),
    (make_skill("charts", "Draws charts."), "A chart may end up in a PDF."),
)


def measured(library: tuple[tuple[Skill, str], ...] = LIBRARY) -> tuple[list[SkillFeatures], Statistics]:
    builder, candidates = StatisticsBuilder(), []
    for skill, body in library:
        found = encode_features(skill, body)
        builder.add(found.encoded, found.words)
        candidates.append(decode_features(found.encoded))
    return candidates, builder.build()


def asked(query: str, known: Statistics) -> Query:
    return parse_query(normalise_query(query), known, Speller(known.words))


def test_the_field_decides_what_a_word_is_worth() -> None:
    candidates, known = measured()
    found = score(asked("pdf", known), stack_terms(candidates), known, fields=ALL_FIELDS - {"body"}).words.tolist()
    forms, reader, painter, charts = found
    assert forms > reader > painter > charts == 0.0


def test_only_the_fields_that_are_asked_for_count() -> None:
    candidates, known = measured()
    words = score(asked("pdf", known), stack_terms(candidates), known, fields=ALL_FIELDS - {"body"}).words.tolist()
    assert words[3] == 0.0
    assert words[0] > 0.0
    assert (
        score(asked("pdf", known), stack_terms(candidates), known, fields=frozenset({"tags"})).words.tolist()[0] == 0.0
    )


def test_a_long_body_takes_away_from_what_stands_in_it() -> None:
    short = (make_skill("short"), "walrus")
    long = (make_skill("long"), "walrus " + "other words entirely " * 500)
    candidates, known = measured((short, long))
    words = score(asked("walrus", known), stack_terms(candidates), known).words.tolist()
    assert words[0] > words[1] > 0.0


def test_the_parts_of_a_score_are_shares() -> None:
    candidates, known = measured()
    question = asked("fill out pdf forms", known)
    scores = score(question, stack_terms(candidates), known, nearness=(0.9, 0.1, None, -0.2))
    assert scores.shares.tolist()[0] == 1.0
    assert scores.meaning.tolist() == pytest.approx([1.0, 0.3 / 1.1, scores.shares.tolist()[2], 0.0])
    assert scores.phrase.tolist()[0] == 1.0
    assert scores.coverage.tolist()[0] == pytest.approx(1.0)
    assert scores.coverage.tolist()[3] == 0.0


def test_what_nobody_has_lowers_the_coverage() -> None:
    candidates, known = measured()
    alone = score(asked("pdf", known), stack_terms(candidates), known).coverage.tolist()[0]
    beside = score(asked("pdf of Ouagadougou", known), stack_terms(candidates), known).coverage.tolist()[0]
    assert alone == pytest.approx(1.0)
    assert beside < 0.5


@pytest.mark.parametrize("origin", list(TermOrigin))
def test_a_guess_at_the_spelling_covers_less_than_what_was_meant(origin: TermOrigin) -> None:
    """As many words of the query as there are: a skill that is found by guesses alone is not covered whole."""
    candidates, known = measured()
    question = Query((Clause("charts", (Alternative(("chart",), 1.0, origin, "charts"),)),), ())
    scores = score(question, stack_terms(candidates), known)
    certain = score(asked("charts", known), stack_terms(candidates), known)
    assert scores.coverage.tolist()[3] == pytest.approx(0.75 if origin is TermOrigin.SPELLING else 1.0)
    # The words themselves are worth the same.
    assert scores.words.tolist() == certain.words.tolist()


def test_a_misspelt_question_is_not_covered_enough_to_fit_by_that_alone() -> None:
    candidates, known = measured()
    covered = {
        text: score(asked(text, known), stack_terms(candidates), known).coverage.tolist()[2]
        for text in ("painter", "paintre")
    }
    assert covered["painter"] == pytest.approx(1.0)
    assert 0.5 < covered["paintre"] < 0.7


def test_synonyms_of_one_word_do_not_add_up() -> None:
    both = (make_skill("both", "Kubernetes k8s kubectl pod."), "")
    one = (make_skill("one", "Kubernetes kubernetes kubernetes kubernetes."), "")
    candidates, known = measured((both, one, *LIBRARY))
    words = score(asked("kubernetes", known), stack_terms(candidates), known).words.tolist()
    assert words[1] > words[0]


def test_of_a_synonym_in_two_words_both_are_needed() -> None:
    whole = (make_skill("whole", "Writes a pull request."), "")
    half = (make_skill("half", "Sends a request."), "")
    parts, known = measured((whole, half, *LIBRARY))
    alternative = Alternative(("pull", "request"), 0.6, TermOrigin.SYNONYM, "pull request")
    question = Query((Clause("merge", (alternative,)),), ())
    scores = score(question, stack_terms(parts), known)
    assert scores.words.tolist()[0] == pytest.approx(
        0.6 * min(_alone(term, parts, known) for term in alternative.terms)
    )
    assert scores.words.tolist()[1:] == [0.0] * 5
    assert scores.coverage.tolist() == [pytest.approx(0.6), 0.0, 0.0, 0.0, 0.0, 0.0]
    assert [len(own) for own in contributions(question, stack_terms(parts), known)] == [1, 0, 0, 0, 0, 0]


def _alone(term: str, parts: list[SkillFeatures], known: Statistics) -> float:
    question = Query((Clause(term, (Alternative((term,), 1.0, TermOrigin.ASKED, term),)),), ())
    return float(score(question, stack_terms(parts), known).words[0])


def test_a_clause_is_as_rare_as_the_rarest_that_can_stand_for_it() -> None:
    parts, known = measured()
    common, rare, other = (Alternative((term,), 0.5, TermOrigin.SYNONYM, term) for term in ("pdf", "wall", "chart"))
    question = Query((Clause("either", (common, rare)), Clause("chart", (other,))), ())
    covered = score(question, stack_terms(parts), known).coverage.tolist()[0]
    pdf, wall, chart = (known.rarity(term) for term in ("pdf", "wall", "chart"))
    assert pdf < wall
    assert covered == pytest.approx(0.5 * wall / (wall + chart))


def test_fields_that_do_not_count_neither_cover_nor_explain() -> None:
    parts, known = measured()
    tags = frozenset({"tags"})
    question = asked("pdf reader", known)
    scores = score(question, stack_terms(parts), known, fields=tags)
    assert scores.coverage.tolist()[0] == 0.0
    assert 0.0 < scores.coverage.tolist()[1] < 1.0
    found = contributions(question, stack_terms(parts), known, fields=tags)
    assert [[part.fields for part in own] for own in found] == [[], [("tags",)], [], []]


def test_what_is_all_there_is_covered_whole() -> None:
    words = [f"word{number}" for number in range(12)]
    library = tuple((make_skill(f"skill-{many}", " ".join(words[:many])), "") for many in range(1, 13))
    parts, known = measured(library)
    for many in range(1, 13):
        coverage = score(asked(" ".join(words[:many]), known), stack_terms(parts), known).coverage.tolist()
        assert coverage[many - 1 :] == [1.0] * (13 - many)


def test_contributions_say_where_the_words_stand_and_add_up_to_the_score() -> None:
    candidates, known = measured()
    question = asked("pdf forms", known)
    found = contributions(question, stack_terms(candidates), known)
    scores = score(question, stack_terms(candidates), known)
    assert [sum(part.worth for part in own) for own in found] == pytest.approx(scores.words.tolist())
    assert {part.asked: part.fields for part in found[0]} == {
        "pdf": ("name", "description"),
        "forms": ("name", "description"),
    }
    assert found[0][0].describe().startswith("forms ")
    assert scores.matched(question, 1) == ["forms", "pdf"]


def test_no_candidates_and_no_clauses_are_no_error() -> None:
    candidates, known = measured()
    assert score(asked("pdf", known), stack_terms([]), known).words.tolist() == []
    assert score(asked("the of", known), stack_terms(candidates), known).words.tolist() == [0.0] * 4
    assert contributions(asked("", known), stack_terms(candidates), known) == [[], [], [], []]


WORDS = st.sampled_from(["pdf", "form", "chart", "walrus", "paint", "table"])
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@given(TEXTS, TEXTS, st.sampled_from(["pdf", "form", "walrus"]))
def test_one_more_of_a_word_in_place_of_another_never_scores_less(description: str, body: str, word: str) -> None:
    poorer = (make_skill("poorer", f"{description} filler"), body)
    richer = (make_skill("richer", f"{description} {word}"), body)
    candidates, known = measured((poorer, richer, *LIBRARY))
    words = score(asked(word, known), stack_terms(candidates), known).words.tolist()
    assert words[1] >= words[0]


@given(st.permutations(range(4)), st.sampled_from(["pdf", "fill forms", "paint charts aloud", "nobody has this"]))
def test_the_order_of_the_candidates_makes_no_difference(order: list[int], query: str) -> None:
    candidates, known = measured()
    question = asked(query, known)
    straight = score(question, stack_terms(candidates), known)
    turned = score(question, stack_terms([candidates[place] for place in order]), known)
    for part in ("words", "coverage", "phrase"):
        values = getattr(straight, part).tolist()
        assert getattr(turned, part).tolist() == pytest.approx([values[place] for place in order])


@given(st.integers(min_value=0, max_value=3))
def test_what_a_candidate_scores_hangs_on_no_other(number: int) -> None:
    candidates, known = measured()
    question = asked("pdf forms and charts", known)
    alone = score(question, stack_terms([candidates[number]]), known).words.tolist()
    assert alone == pytest.approx([score(question, stack_terms(candidates), known).words.tolist()[number]])
