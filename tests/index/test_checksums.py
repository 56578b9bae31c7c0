"""What was noted of files is kept, what may be written again is noted again, and what is gone is no damage."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from skillhub_mcp.index.checksums import changed_files, note_checksums


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in ("t.lance/data/one.lance", "t.lance/_versions/1.manifest", "t.lance/_transactions/1.txn", "s.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"0" * 100)
    return tmp_path


def note(table: Path) -> None:
    note_checksums(str(table), str(table / "notes.json"), [str(table / "t.lance"), str(table / "s.npz")])


def changed(table: Path) -> tuple[str, ...]:
    return changed_files(str(table), str(table / "notes.json"))


def test_a_changed_file_is_named_and_stays_so_when_others_are_noted(table: Path) -> None:
    assert changed(table) == ()
    note(table)
    assert changed(table) == ()
    data = table / "t.lance" / "data" / "one.lance"
    data.write_bytes(b"0" * 99 + b"1")
    (table / "t.lance" / "data" / "two.lance").write_bytes(b"2")
    note(table)
    assert changed(table) == ("t.lance/data/one.lance",)
    (table / "t.lance" / "data" / "two.lance").write_bytes(b"")
    assert changed(table) == ("t.lance/data/one.lance", "t.lance/data/two.lance")
    data.unlink()
    assert changed(table) == ("t.lance/data/two.lance",)


def test_a_version_that_a_killed_writer_left_may_be_written_again(table: Path) -> None:
    note(table)
    for name in ("t.lance/_versions/1.manifest", "s.npz"):
        (table / name).write_bytes(b"another")
    assert len(changed(table)) == 2
    note(table)
    assert changed(table) == ()


def test_times_alone_and_what_is_not_read_are_no_change(table: Path) -> None:
    note(table)
    os.utime(table / "t.lance" / "data" / "one.lance")
    (table / "t.lance" / "_transactions" / "1.txn").unlink()
    (table / "t.lance" / "_versions" / "latest_version_hint.json").write_text("{}", encoding="utf-8")
    assert changed(table) == ()


@pytest.mark.parametrize("notes", ["", "[]", '{"format": 9, "files": {}}', '{"format": 1, "files": {"a": 1}}'])
def test_notes_that_cannot_be_read_say_nothing(table: Path, notes: str) -> None:
    (table / "notes.json").write_text(notes, encoding="utf-8")
    assert changed(table) == ()
    note(table)
    (table / "s.npz").write_bytes(b"")
    assert changed(table) == ("s.npz",)


def test_notes_about_files_elsewhere_and_about_what_is_no_file_are_not_followed(tmp_path: Path) -> None:
    database, notes = tmp_path / "db", tmp_path / "notes.json"
    database.mkdir()
    os.mkfifo(database / "pipe")
    (tmp_path / "secret").write_text("x")
    names = ("../secret", str(tmp_path / "secret"), "/dev/zero", "pipe")
    notes.write_text(json.dumps({"format": 1, "files": {name: [0, 0, "0"] for name in names}}))
    assert changed_files(str(database), str(notes)) == ("pipe",)
    notes.write_text("[" * 100_000)
    assert changed_files(str(database), str(notes)) == ()
