"""What a query asks for, given what a library has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from tests.search.builders import make_skill

from skillhub_mcp.analysis.analyzer import normalise_query
from skillhub_mcp.index.features import skill_features
from skillhub_mcp.index.statistics import Statistics, counted
from skillhub_mcp.search.query import ALL_ORIGINS, Query, TermOrigin, parse_query
from skillhub_mcp.skills.model import Skill

LIBRARY = (
    make_skill("invoice-sorter", "Sort invoices and receipts into a folder automatically."),
    make_skill("csharp-async", "Best practices for C# asynchronous programming, and avoiding a deadlock."),
    make_skill("kubernetes", "Debug a Kubernetes pod; watch websocket connections."),
    make_skill("ja-invoices", "請求書のPDFから番号を抽出する。"),
    make_skill("repository", "Clean a repository, with full text search."),
)

NO_BODIES: Mapping[str, str] = {}


def statistics(library: Sequence[Skill] = LIBRARY, bodies: Mapping[str, str] = NO_BODIES) -> Statistics:
    return counted(skill_features(skill, bodies.get(skill.name, ""), {}).own for skill in library)


def asked(query: str, *, origins: frozenset[TermOrigin] = ALL_ORIGINS) -> Query:
    known = statistics()
    return parse_query(normalise_query(query), known, origins=origins)


def asked_of(library: Sequence[Skill], query: str, *, bodies: Mapping[str, str] = NO_BODIES) -> Query:
    """The query as another library understands it; `bodies` are by name."""
    known = statistics(library, bodies)
    return parse_query(normalise_query(query), known)


def choices(question: Query, origin: TermOrigin) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for clause in question.clauses:
        for choice in clause.alternatives:
            if choice.origin is origin:
                found.setdefault(clause.asked, []).append(choice.text)
    return found


def test_each_word_that_is_not_a_stop_word_is_a_clause() -> None:
    question = asked("please sort the invoices for me")
    assert [(clause.asked, clause.weight) for clause in question.clauses] == [("sort", 1.0), ("invoices", 1.0)]


def test_a_repeated_word_has_a_sublinear_weight() -> None:
    once, often = asked("invoices, sort"), asked("Invoices, invoice and sort invoices")
    assert [clause.asked for clause in often.clauses] == ["Invoices", "sort"]
    assert [clause.weight for clause in once.clauses] == [1.0, 1.0]
    assert often.clauses[0].weight == pytest.approx(1.0 + math.log(3))
    assert asked("invoice, two invoices").clauses[0].weight == pytest.approx(1.0 + math.log(2))
    assert often.clauses[1].weight == 1.0


@pytest.mark.parametrize(
    ("query", "meanings"),
    [
        ("Alle Rechnungen aus dem Ordner sortieren", {"Rechnungen": "invoice", "Ordner": "folder"}),
        ("Quiero ordenar las facturas en una carpeta", {"facturas": "invoice", "carpeta": "folder"}),
        ("trier les factures dans un dossier", {"factures": "invoice", "dossier": "folder"}),
        ("отсортировать счета по папкам и документам", {"счета": "invoice", "документам": "document"}),
        ("レポートを翻訳したい", {"レポート": "report", "翻訳": "translate"}),
        ("把电影导出成表格", {"电影": "movie", "导出": "export", "表格": "table"}),
        ("보고서를 번역", {"보고서": "report", "번역": "translate"}),
    ],
)
def test_foreign_words_are_translated(query: str, meanings: dict[str, str]) -> None:
    found = choices(asked(query), TermOrigin.TRANSLATION)
    assert {word: found[word][0] for word in meanings} == meanings


def test_foreign_words_without_a_translation_are_untranslated() -> None:
    for query in ("Wie reife ich einen Camembert für die Rechnungen?", "カマンベールの請求書"):
        question = asked(query)
        assert question.unknown == ()
        assert len(question.untranslated) == 2 - ("請求書" in query)


def test_particles_in_unspaced_text_are_ignored() -> None:
    library = [make_skill("zh", "怎么把我的发票做成文件"), *LIBRARY]
    question = asked_of(library, "怎么把我的发票寄出")
    assert [clause.asked for clause in question.clauses][:1] == ["发票"]
    assert not {"怎么", "么把", "把我", "我的", "的发"} & {*question.terms, *question.untranslated}


@pytest.mark.parametrize("word", ["りんご", "猫", "강아지"])
def test_a_single_unspaced_word_is_searched_as_it_is(word: str) -> None:
    assert asked_of([make_skill("pets", word), *LIBRARY], word).terms


def test_a_name_with_a_foreign_ending_is_corrected() -> None:
    question = asked("jak się łączyć z kubernetesa przez websockety")
    assert choices(question, TermOrigin.SPELLING)["kubernetesa"] == ["kubernetes"]


def test_a_tie_of_stop_words_means_english() -> None:
    assert choices(asked("the Rechnung und"), TermOrigin.TRANSLATION) == {}
    assert list(choices(asked("die Rechnung und the"), TermOrigin.TRANSLATION)) == ["Rechnung"]


def test_the_rarest_words_of_a_long_text_are_searched() -> None:
    common = [f"common{number}x" for number in range(150)]
    library = [make_skill(f"skill-{number}", " ".join(common)) for number in range(3)]
    question = asked_of([*library, *LIBRARY], f"{' '.join(common)} at the end a websocket for kubernetes")
    assert len(question.clauses) == 100
    assert [clause.asked for clause in question.clauses[-2:]] == ["websocket", "kubernetes"]
    assert question.left_out == 52


def test_unknown_words_of_a_pasted_text_are_not_corrected() -> None:
    typed, pasted = "the deadlok", "the deadlok " + "pod " * 50
    assert choices(asked(typed), TermOrigin.SPELLING) == {"deadlok": ["deadlock"]}
    assert asked(pasted).unknown == ("deadlok",)


def test_foreign_and_pasted_queries_are_recognised() -> None:
    assert asked("fix the deadlock").typed
    assert not asked("the deadlock " + "pod " * 50).typed
    assert not asked("fix the deadlock").foreign
    for other in ("die Rechnung und der Kunde", "請求書を整理したい"):
        assert asked(other).foreign


@pytest.mark.parametrize(("bodies", "corrected"), [(1, True), (4, True), (5, False)])
def test_a_word_in_few_bodies_may_be_corrected(bodies: int, corrected: bool) -> None:
    others = [make_skill(f"other-{number}") for number in range(bodies)]
    question = asked_of((*LIBRARY, *others), "invoces", bodies={other.name: "invoces" for other in others})
    assert choices(question, TermOrigin.SPELLING) == ({"invoces": ["invoices"]} if corrected else {})


def test_an_english_question_is_not_translated() -> None:
    assert choices(asked("what is the brief for the rust project about die casting"), TermOrigin.TRANSLATION) == {}


def test_the_language_of_a_description_beats_its_translation() -> None:
    question = asked("請求書")
    weights = {choice.text: choice.weight for clause in question.clauses for choice in clause.alternatives}
    assert len(question.clauses) == 1
    assert weights["invoice"] < weights["請求書"] == 1.0


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("deadlok", "deadlock"), ("automaticaly", "automatically"), ("kuberntes", "kubernetes"), ("recepits", "receipts")],
)
def test_a_misspelt_word_is_corrected_to_a_word_of_a_description(wrong: str, right: str) -> None:
    assert choices(asked(wrong), TermOrigin.SPELLING) == {wrong: [right]}


def test_a_known_word_is_not_corrected() -> None:
    assert choices(asked("sort pod clean"), TermOrigin.SPELLING) == {}


def test_words_without_alternatives_are_unknown() -> None:
    question = asked("invoices of Ouagadougou")
    assert [clause.asked for clause in question.clauses] == ["invoices"]
    assert question.unknown == ("Ouagadougou",)


@pytest.mark.parametrize("left_out", sorted(ALL_ORIGINS - {TermOrigin.ASKED}))
def test_each_kind_of_alternative_can_be_left_out(left_out: TermOrigin) -> None:
    for query in ("deadlok", "die Rechnungen"):
        assert choices(asked(query, origins=ALL_ORIGINS - {left_out}), left_out) == {}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "\0\0",
        "🦀🦀",
        "AND OR NOT ( ) * : \" '",
        "x" * 100_000,
        "pdf " * 25_000,
        "請求書" * 10_000,
        "a b c d e f g h i j k l m n o p q r s t u v w x y z " * 100,
        "\ud800",
    ],
)
def test_unusual_queries_have_bounded_clauses(query: str) -> None:
    question = asked(query)
    assert len(question.clauses) <= 100
    assert len(question.terms) <= 1_000


def test_parsing_is_deterministic() -> None:
    queries: Sequence[str] = ("sort invoices", "die Rechnungen sortieren", "請求書を整理", "kuberntes deadlok")
    assert [asked(query) for query in queries] == [asked(query) for query in queries]


@pytest.mark.parametrize("query", ["AI agent", "ai agent", "CI pipeline", "ES index", "DEM raster", "OS hardening"])
def test_an_abbreviation_is_not_taken_for_another_language(query: str) -> None:
    question = asked(query)
    assert len(question.clauses) + len(question.unknown) == 2


def test_a_single_foreign_word_is_translated_if_no_skill_has_it() -> None:
    assert choices(asked("Rechnungen"), TermOrigin.TRANSLATION)["Rechnungen"][0] == "invoice"
