"""Files of queries: their content, and the line of an error."""

from __future__ import annotations

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


def query(*relevant: str, name: str = "1", text: str = "read a pdf", kind: str = "any") -> JudgedQuery:
    return JudgedQuery(name, text, kind, frozenset(relevant))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"id": "q-1", "text": "prüfe", "kind": "german", "relevant": ["pdf", "docx", "pdf"], "note": "ours"}',
            query("pdf", "docx", name="q-1", text="prüfe", kind="german"),
        ),
        (f"\ufeff{GOOD}", query("pdf")),
        # Without an id, the number of the line.
        (f"\n   \n{GOOD}", query("pdf", name="3")),
        ('{"id": 7, "text": "a", "kind": null, "relevant": []}', query(name="7", text="a")),
        ('{"text": "a", "kind": 5, "relevant": {"pdf": 2, "docx": 1}}', query("pdf", "docx", text="a", kind="5")),
        # Only a newline ends a line.
        ('{"text": "a\u2028b\x85c", "relevant": []}', query(text="a\u2028b\x85c")),
    ],
)
def test_a_line_is_a_query(path: Path, line: str, expected: JudgedQuery) -> None:
    assert read_queries(keep(path, line)) == [expected]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("no json", "is not valid JSON: "),
        ("[" * 100_000, "is not valid JSON: "),
        ("9" * 10_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('{"relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": " \\n", "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": ["a"], "relevant": ["pdf"]}', 'needs a "text"'),
        ('{"text": "a"}', 'needs "relevant": '),
        ('{"text": "a", "relevant": "pdf"}', 'needs "relevant": '),
        ('{"text": "a", "relevant": ["pdf", 1]}', 'needs "relevant": '),
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
