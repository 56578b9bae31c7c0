"""Files of queries and of skill ids: what they may contain, and the line of an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillhub_mcp.errors import QueriesUnreadable
from skillhub_mcp.evaluation.queries import JudgedQuery, read_queries, read_skill_ids, relevant_directories

GOOD = '{"text": "read a pdf", "relevant": ["pdf"]}'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queries.jsonl"


def keep(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def query(*relevant: str, name: str = "1") -> JudgedQuery:
    return JudgedQuery(name, "read a pdf", "any", frozenset(relevant))


def test_a_query_has_an_id_a_kind_and_the_skills_that_answer_it(path: Path) -> None:
    name = keep(
        path,
        '{"id": "q-1", "text": "prüfe ein PDF", "kind": "german", "relevant": ["pdf", "docx", "pdf"], "note": "ours"}',
    )
    assert read_queries(name) == [JudgedQuery("q-1", "prüfe ein PDF", "german", frozenset({"pdf", "docx"}))]


def test_a_query_without_id_and_kind_is_called_by_its_line(path: Path) -> None:
    assert read_queries(keep(path, GOOD, "", "   ", GOOD)) == [
        JudgedQuery("1", "read a pdf", "any", frozenset({"pdf"})),
        JudgedQuery("4", "read a pdf", "any", frozenset({"pdf"})),
    ]


@pytest.mark.parametrize(("kind", "wanted"), [("null", "any"), ("5", "5"), ('""', "")])
def test_a_kind_that_is_null_is_none_at_all(path: Path, kind: str, wanted: str) -> None:
    assert read_queries(keep(path, f'{{"text": "a", "kind": {kind}, "relevant": []}}'))[0].kind == wanted


def test_a_file_may_begin_with_a_byte_order_mark(path: Path) -> None:
    assert read_queries(keep(path, f"\ufeff{GOOD}", GOOD)) == [query("pdf", name="1"), query("pdf", name="2")]
    assert list(read_skill_ids(keep(path, '\ufeff{"id": "a", "path": "a/SKILL.md"}'))) == ["a"]


def test_relevant_may_be_a_list_or_an_object_with_the_skills_as_keys(path: Path) -> None:
    name = keep(
        path,
        '{"text": "a", "relevant": ["pdf", "docx"]}',
        '{"text": "a", "relevant": {"pdf": 2, "docx": 1}}',
        '{"text": "a", "relevant": []}',
        '{"text": "a", "relevant": {}}',
    )
    both, nothing = frozenset({"pdf", "docx"}), frozenset[str]()
    assert [one.relevant for one in read_queries(name)] == [both, both, nothing, nothing]


def test_a_number_as_an_id_is_taken_as_text(path: Path) -> None:
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
def test_a_bad_line_is_named_with_what_is_wrong_with_it(path: Path, bad: str, reason: str) -> None:
    name = keep(path, GOOD, "", bad, GOOD)
    with pytest.raises(QueriesUnreadable) as caught:
        read_queries(name)
    assert caught.value.message.startswith(f"{name}:3 {reason}")
    assert caught.value.facts == {"path": name, "line": 3}
    assert caught.value.hint


@pytest.mark.parametrize("lines", [[], [""], ["", "   "]])
def test_a_file_without_a_query_is_named(path: Path, lines: list[str]) -> None:
    name = keep(path, *lines)
    with pytest.raises(QueriesUnreadable) as caught:
        read_queries(name)
    assert (caught.value.message, caught.value.facts["line"]) == (f"{name} contains no queries", 0)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: Path) -> None:
    path.write_bytes(b'{"text": "\xff", "relevant": []}\n')
    for name in (str(path), str(tmp_path), str(tmp_path / "not-there.jsonl")):
        for read in (read_queries, read_skill_ids):
            with pytest.raises(QueriesUnreadable) as caught:
                read(name)
            assert caught.value.message.startswith(f"{name} cannot be read: ")
            assert caught.value.facts["line"] == 0


def test_ids_name_directories_from_where_their_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path.resolve() / "library"
    (folder / "real" / "pdf").mkdir(parents=True)
    (folder / "linked").symlink_to(folder / "real", target_is_directory=True)
    absolute = json.dumps({"id": "abs", "path": str(tmp_path.resolve() / "elsewhere" / "SKILL.md")})
    lines = ['{"id": "doc/pdf@1", "path": "linked/pdf/SKILL.md", "name": "pdf"}', "", absolute]
    path = folder / "index.jsonl"
    keep(path, *lines, '{"id": 5, "path": "SKILL.md"}')
    wanted = {
        "doc/pdf@1": str(folder / "real" / "pdf"),
        "abs": str(tmp_path.resolve() / "elsewhere"),
        "5": str(folder),
    }
    assert read_skill_ids(str(path)) == wanted
    monkeypatch.chdir(folder)
    assert read_skill_ids("index.jsonl") == wanted


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "is not valid JSON: "),
        ("[]", "is not a JSON object"),
        ("{}", 'needs "id" and "path"'),
        ('{"id": "a"}', 'needs "id" and "path"'),
        ('{"path": "a/SKILL.md"}', 'needs "id" and "path"'),
        ('{"id": "a", "path": 5}', 'needs "id" and "path"'),
        ('{"id": "a", "path": null}', 'needs "id" and "path"'),
    ],
)
def test_a_bad_line_of_ids_is_named(path: Path, bad: str, reason: str) -> None:
    name = keep(path, '{"id": "a", "path": "a/SKILL.md"}', bad)
    with pytest.raises(QueriesUnreadable) as caught:
        read_skill_ids(name)
    assert caught.value.message.startswith(f"{name}:2 {reason}")


def test_skills_are_found_by_id_before_name() -> None:
    ids, names = {"pdf": "/by-id"}, {"pdf": "/by-name", "other": "/by-id", "docx": "/docx"}
    queries = [query("pdf", "docx"), query(), query("docx")]
    assert relevant_directories(queries, ids, names, "q.jsonl") == [
        frozenset({"/by-id", "/docx"}),
        frozenset(),
        frozenset({"/docx"}),
    ]


def test_an_id_leads_to_a_skill_below_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "real" / "pdf").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    listed = str(tmp_path / "linked" / "pdf")
    ids, names = {"doc/pdf@1": str(tmp_path / "real" / "pdf")}, {"pdf": listed}
    assert relevant_directories([query("doc/pdf@1")], ids, names, "q.jsonl") == [frozenset({listed})]


def test_the_line_of_a_skill_that_is_not_there_is_the_files(path: Path) -> None:
    name = keep(path, GOOD, "", "", '{"text": "a", "relevant": ["nobody"]}')
    with pytest.raises(QueriesUnreadable) as caught:
        relevant_directories(read_queries(name), {}, {"pdf": "/pdf"}, name)
    assert caught.value.facts["line"] == 4


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_a_line_ends_where_json_lines_end_and_nowhere_else(path: Path, character: str) -> None:
    name = keep(path, json.dumps({"text": f"a{character}b", "relevant": []}, ensure_ascii=False))
    assert [one.text for one in read_queries(name)] == [f"a{character}b"]


def test_an_id_whose_path_no_file_can_have_is_named(path: Path) -> None:
    name = keep(path, '{"id": "a", "path": "a\\u0000/SKILL.md"}')
    with pytest.raises(QueriesUnreadable, match=":1 "):
        read_skill_ids(name)


def test_an_id_whose_skill_is_not_there_is_named(path: Path) -> None:
    name = keep(path, '{"text": "a", "relevant": ["acme/pdf@1"]}')
    with pytest.raises(QueriesUnreadable, match=":1 names the skill 'acme/pdf@1'"):
        relevant_directories(read_queries(name), {"acme/pdf@1": "/moved/away"}, {"pdf": "/pdf"}, name)
