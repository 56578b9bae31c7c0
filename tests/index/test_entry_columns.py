"""The columns of a state's entries: they say what the lines say, or nothing."""

from __future__ import annotations

import io
import json
import os
import string
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillhub_mcp.index.entry_columns import ColumnsWriter, LineRow, read_columns
from skillhub_mcp.index.keys import RootKeys
from skillhub_mcp.index.state import IndexState, PublishedTable, RootState, load_state, save_state
from skillhub_mcp.index.state_entries import encode_entries, read_entries, write_columns
from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.skills.scanner import CachedSkillFile

ROOT = "/library"
KEYS = {"hub": RootKeys("hub", ROOT)}

pytestmark = pytest.mark.usefixtures("some_rows_are_many")

texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6)
directories = st.text(string.ascii_lowercase + ' "\\é\n\u2028', min_size=1, max_size=4).map(
    lambda name: f"{ROOT}/{name}"
)
findings = st.lists(st.sampled_from([Diagnostic("rule", Severity.ERROR, 'of "],"x"', "mend\nit", 3)]), max_size=2)


@st.composite
def entries(draw: st.DrawFn) -> CachedSkillFile:
    directory = draw(directories)
    stamp = FileStamp(
        draw(st.integers(0, 2**62) | st.just(2**63)), draw(st.integers(0, 9)), "c0ffee", 5, draw(st.integers(0, 2**62))
    )
    found = tuple(draw(findings))
    if draw(st.booleans()):
        return CachedSkillFile(ROOT, stamp, None, found)
    skill = Skill(
        name=draw(texts),
        description=draw(texts),
        directory=directory,
        root=ROOT,
        category=draw(st.none() | texts) or None,
        tags=tuple(draw(st.lists(texts, max_size=2))),
        always_apply=draw(st.booleans()),
        allowed_tools=(),
        license=draw(st.none() | st.just('},{"category":"none"}')),
        compatibility=None,
        metadata={},
        diagnostics=found,
        stamp=stamp,
        disable_model_invocation=draw(st.booleans()),
        user_invocable=draw(st.booleans()),
    )
    return CachedSkillFile(ROOT, stamp, skill, found, HeaderShape(draw(st.integers(0, 3))))


def written(memory: Sequence[tuple[str, CachedSkillFile]], place: Path) -> tuple[int, bytes]:
    """Write the lines of entries; return how many bytes these have, and their columns."""
    place.write_bytes(b"".join(encode_entries(KEYS["hub"], memory)))
    size, columns = place.stat().st_size, io.BytesIO()
    with place.open("rb") as lines:
        write_columns(columns, lines, size)
    return size, columns.getvalue()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
@settings(max_examples=100, deadline=None)
@given(st.lists(entries(), min_size=4, max_size=12, unique_by=lambda entry: entry.skill and entry.skill.directory))
def test_columns_say_what_the_lines_say(tmp_path_factory: pytest.TempPathFactory, found: list[CachedSkillFile]) -> None:
    memory = [
        (entry.skill.directory if entry.skill else f"{ROOT}/refused-{number}", entry)
        for number, entry in enumerate(found)
    ]
    place = tmp_path_factory.mktemp("entries") / "lines"
    size, columns = written(memory, place)
    beside = place.with_name("columns")
    beside.write_bytes(columns)
    with place.open("rb") as lines:
        by_line = read_entries(lines, 0, size, KEYS, {})
        by_column = read_entries(lines, 0, size, KEYS, {}, columns=str(beside), compact=size)
        assert list(by_column["hub"].items()) == list(by_line["hub"].items()) == memory
        # The lines were not read a second time: without their columns they would have to be.
        rows = [row for block in read_columns(io.BytesIO(columns), size) for row in block.rows()]
        assert len(rows) == len(memory)


def state_of(*names: str) -> IndexState:
    memory = {f"{ROOT}/{name}": _entry(name) for name in names}
    roots = {ROOT: RootState("00", 0, memory, "hub")}
    return IndexState("db", "none", 1, "none", PublishedTable("skills", "c0ffee"), 7, roots)


def _entry(name: str, description: str = "Does it.") -> CachedSkillFile:
    stamp = FileStamp(5, 6, "c0ffee", 7, 8)
    skill = Skill(name, description, f"{ROOT}/{name}", ROOT, None, (), False, (), None, None, {}, (), stamp)
    return CachedSkillFile(ROOT, stamp, skill, ())


def columns_in(place: Path) -> list[Path]:
    return sorted(place.glob("*.columns-*"))


def test_columns_lie_beside_the_entries_of_many_skills_and_go_with_them(tmp_path: Path) -> None:
    path = str(tmp_path / "index_state.json")
    save_state(path, state_of("a", "b"))
    assert columns_in(tmp_path) == []
    save_state(path, state_of("a", "b", "c", "d"))
    (first,) = columns_in(tmp_path)
    save_state(path, state_of("a", "b", "c", "d", "e"))
    (second,) = columns_in(tmp_path)
    assert first != second
    assert second.name.replace("columns", "entries") in os.listdir(tmp_path)
    assert second.stat().st_mode & 0o077 == (tmp_path / "index_state.json").stat().st_mode & 0o077
    save_state(path, state_of("a"))
    assert columns_in(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
@pytest.mark.parametrize(
    "lost", ["gone", "empty", "cut", "one bit", "no head", "fewer blocks", "of other lines", "later"]
)
def test_where_columns_are_damaged_or_not_of_these_lines_the_lines_are_read(tmp_path: Path, lost: str) -> None:
    path = str(tmp_path / "index_state.json")
    state, _ = save_state(path, state_of("a", "b", "c", "d", "e"))
    (columns,) = columns_in(tmp_path)
    content = columns.read_bytes()
    head, _, rest = content.partition(b"\n")
    fewer = json.dumps({**json.loads(head), "sizes": [len(rest)]}).encode()
    later = json.dumps({**json.loads(head), "begin": 1}).encode()
    if lost == "gone":
        columns.unlink()
    elif lost == "of other lines":
        other = tmp_path / "other"
        other.mkdir()
        save_state(str(other / "index_state.json"), state_of("v", "w", "x", "y", "z"))
        columns.write_bytes(columns_in(other)[0].read_bytes())
    else:
        middle = len(content) // 2
        damaged = {
            "empty": b"",
            "cut": content[:-2],
            "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "no head": b"[]\n" + rest,
            "fewer blocks": fewer + b"\n" + rest,
            "later": later + b"\n" + rest,
        }
        columns.write_bytes(damaged[lost])
    assert load_state(path) == state


def test_what_was_appended_counts_over_what_the_columns_say(tmp_path: Path) -> None:
    path = str(tmp_path / "index_state.json")
    first, _ = save_state(path, state_of("a", "b", "c", "d"))
    before = columns_in(tmp_path)
    (root,) = first.roots.values()
    memory = {**root.memory, f"{ROOT}/b": _entry("b", "Does more."), f"{ROOT}/e": _entry("e")}
    del memory[f"{ROOT}/c"]
    second, _ = save_state(path, state_with(first, memory), before=first)
    assert columns_in(tmp_path) == before
    read = load_state(path)
    assert read == second
    assert read is not None
    assert {place: entry.skill and entry.skill.description for place, entry in read.memory.items()} == {
        f"{ROOT}/a": "Does it.",
        f"{ROOT}/b": "Does more.",
        f"{ROOT}/d": "Does it.",
        f"{ROOT}/e": "Does it.",
    }


def state_with(state: IndexState, memory: dict[str, CachedSkillFile]) -> IndexState:
    return IndexState(
        "db", "none", 1, "none", state.table, 8, {ROOT: RootState("01", 0, memory, "hub")}, entries=state.entries
    )


def test_a_block_that_ends_with_a_line_break_in_no_text_is_read_as_it_was_written() -> None:
    rows = [LineRow(f"hub/{n}", n, n, n, n, "", "[]", "[0,0,0,null]", "", 10 * n, "") for n in range(5)]
    file = io.BytesIO()
    writer = ColumnsWriter(file)
    for row in rows:
        writer.add(row)
    assert writer.finish(50)
    file.seek(0)
    assert [row for block in read_columns(file, 50) for row in block.rows()] == rows
