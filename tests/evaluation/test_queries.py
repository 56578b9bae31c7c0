"""Files of queries: their content, and the line of an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillhub_mcp.errors import QueriesUnreadable
from skillhub_mcp.evaluation.queries import JudgedQuery, read_queries, relevant_directories

GOOD = '{"text": "read a pdf", "relevant": ["pdf"]}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queries.jsonl"


def keep(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def query(*relevant: str, name: str = "1") -> JudgedQuery:
    return JudgedQuery(name, "read a pdf", "any", frozenset(relevant))


def test_a_query_has_an_id_a_kind_and_relevant_skills(path: Path) -> None:
    name = keep(
        path,
        '{"id": "q-1", "text": "prüfe ein PDF", "kind": "german", "relevant": ["pdf", "docx", "pdf"], "note": "ours"}',
    )
    assert read_queries(name) == [JudgedQuery("q-1", "prüfe ein PDF", "german", frozenset({"pdf", "docx"}))]


def test_the_default_id_of_a_query_is_its_line(path: Path) -> None:
    assert read_queries(keep(path, GOOD, "", "   ", GOOD)) == [
        JudgedQuery("1", "read a pdf", "any", frozenset({"pdf"})),
        JudgedQuery("4", "read a pdf", "any", frozenset({"pdf"})),
    ]


@pytest.mark.parametrize(("kind", "wanted"), [("null", "any"), ("5", "5"), ('""', "")])
def test_a_null_kind_is_the_default(path: Path, kind: str, wanted: str) -> None:
    assert read_queries(keep(path, f'{{"text": "a", "kind": {kind}, "relevant": []}}'))[0].kind == wanted


def test_a_byte_order_mark_is_skipped(path: Path) -> None:
    assert read_queries(keep(path, f"\ufeff{GOOD}", GOOD)) == [query("pdf", name="1"), query("pdf", name="2")]


def test_relevant_is_a_list_or_an_object(path: Path) -> None:
    name = keep(
        path,
        '{"text": "a", "relevant": ["pdf", "docx"]}',
        '{"text": "a", "relevant": {"pdf": 2, "docx": 1}}',
        '{"text": "a", "relevant": []}',
        '{"text": "a", "relevant": {}}',
    )
    both, nothing = frozenset({"pdf", "docx"}), frozenset[str]()
    assert [one.relevant for one in read_queries(name)] == [both, both, nothing, nothing]


def test_a_numeric_id_becomes_text(path: Path) -> None:
    assert read_queries(keep(path, '{"id": 7, "text": "a", "relevant": []}'))[0].id == "7"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("no json", "is not valid JSON: "),
        ('{"text": "cut', "is not valid JSON: "),
        ("[" * 100_000, "is not valid JSON: "),
        ('{"text": ' * 100_000, "is not valid JSON: "),
        ("9" * 10_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('"text"', "is not a JSON object"),
        ("{}", 'needs a "text"'),
        ('{"relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": "", "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": " \\n", "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": ["a"], "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": null, "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": "a"}', 'needs "relevant": '),
        ('{"text": "a", "relevant": null}', 'needs "relevant": '),
        ('{"text": "a", "relevant": "pdf"}', 'needs "relevant": '),
        ('{"text": "a", "relevant": 1}', 'needs "relevant": '),
        ('{"text": "a", "relevant": ["pdf", 1]}', 'needs "relevant": '),
        ('{"text": "a", "relevant": [["pdf"]]}', 'needs "relevant": '),
        ('{"text": "a", "relevant": [null]}', 'needs "relevant": '),
    ],
)
def test_an_invalid_line_is_reported_with_the_reason(path: Path, bad: str, reason: str) -> None:
    name = keep(path, GOOD, "", bad, GOOD)
    with pytest.raises(QueriesUnreadable) as caught:
        read_queries(name)
    assert caught.value.message.startswith(f"{name}:3 {reason}")
    assert caught.value.facts == {"path": name, "line": 3}
    assert caught.value.hint


@pytest.mark.parametrize("lines", [[], [""], ["", "   "]])
def test_a_file_without_queries_is_an_error(path: Path, lines: list[str]) -> None:
    name = keep(path, *lines)
    with pytest.raises(QueriesUnreadable) as caught:
        read_queries(name)
    assert (caught.value.message, caught.value.facts["line"]) == (f"{name} contains no queries", 0)


def test_an_unreadable_file_is_an_error(tmp_path: Path, path: Path) -> None:
    path.write_bytes(b'{"text": "\xff", "relevant": []}\n')
    for name in (str(path), str(tmp_path), str(tmp_path / "not-there.jsonl")):
        with pytest.raises(QueriesUnreadable) as caught:
            read_queries(name)
        assert caught.value.message.startswith(f"{name} cannot be read: ")
        assert caught.value.facts["line"] == 0


def test_relevant_names_become_directories() -> None:
    queries = [query("pdf", "docx"), query(), query("docx")]
    assert relevant_directories(queries, {"pdf": "/pdf", "docx": "/docx"}, "q.jsonl") == [
        frozenset({"/pdf", "/docx"}),
        frozenset(),
        frozenset({"/docx"}),
    ]


def test_an_unknown_skill_is_reported_with_its_line(path: Path) -> None:
    name = keep(path, GOOD, "", "", '{"text": "a", "relevant": ["nobody"]}')
    with pytest.raises(QueriesUnreadable, match=":4 names the skill 'nobody'") as caught:
        relevant_directories(read_queries(name), {"pdf": "/pdf"}, name)
    assert caught.value.facts["line"] == 4


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_only_newlines_end_a_line(path: Path, character: str) -> None:
    name = keep(path, json.dumps({"text": f"a{character}b", "relevant": []}, ensure_ascii=False))
    assert [one.text for one in read_queries(name)] == [f"a{character}b"]
