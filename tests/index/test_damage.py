"""What is damaged in an index is told part by part, and mended with the least work: nothing is embedded again."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.search.builders import Desk, WordEmbedder

from skillhub_mcp.index import state_entries
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.state import FIRST_TABLE
from skillhub_mcp.index.sync import SyncDepth, View

Writer = Callable[..., Path]


class Library:
    """Two skills that are indexed and embedded, and what the files of their index are."""

    def __init__(self, place: Path, skills: Path, write_skill: Writer) -> None:
        self.db, self.skills, self.write_skill = place / "db" / "skills.lancedb", skills, write_skill
        self.embedder = WordEmbedder()
        write_skill("one", "About walruses.")
        write_skill("two", "About seals.")
        self.desk().refresh()
        self.embedder.texts.clear()

    def desk(self, *, automatic: bool = True) -> Desk:
        return Desk(self.db, self.skills, embedder=self.embedder, automatic=automatic)

    @property
    def state(self) -> Path:
        return self.db.with_name("index_state.json")

    @property
    def entries(self) -> Path:
        return self.db.with_name(json.loads(self.state.read_text(encoding="utf-8"))["entries"][0])

    def newest(self, pattern: str) -> Path:
        return max(self.db.glob(pattern), key=lambda file: int(file.stem.rsplit("-", 1)[1]))

    def damages(self) -> tuple[Damage, ...]:
        return self.desk().index_sync.damages()

    def verified(self) -> View:
        return self.desk().refresh(SyncDepth.VERIFY)

    def assert_mended(self, view: View, *, embedded: int = 0) -> None:
        assert view.problem is None
        assert view.index is not None
        assert not view.index.lacks_vectors
        reader = self.desk()
        assert reader.refresh().report is None
        assert reader.find("walruses") == ["one"]
        assert self.damages() == ()
        assert len(self.embedder.texts) == embedded


@pytest.fixture
def library(tmp_path: Path, skills_dir: Path, write_skill: Writer) -> Library:
    return Library(tmp_path, skills_dir, write_skill)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for place in range(0, len(content), max(1, len(content) // 16)):
        content[place] ^= 0xFF
    file.write_bytes(content)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def noise(file: Path) -> None:
    file.write_bytes(b"\0\xff" * (file.stat().st_size // 2 + 1))


def swap(file: Path) -> None:
    """Put in its place what another root's entries would be."""
    file.write_bytes(file.read_bytes().replace(b'"hub/', b'"hog/'))


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [Path.unlink, cut, noise, swap])
def test_lost_entries_are_read_from_the_files_and_no_row_is_written(
    library: Library, spoil: Callable[[Path], object]
) -> None:
    version = library.desk().published().table_version
    spoil(library.entries)
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (IndexPart.STATE, True)
    # By the next look of anybody, whether it is asked to verify or not.
    view = library.desk().refresh()
    library.assert_mended(view)
    assert view.report is not None
    assert (view.report.reason, view.report.written, view.report.rebuilt) == (
        "what was read from the skills is lost",
        0,
        False,
    )
    assert library.desk().published().table_version == version
    again = library.desk()
    assert again.refresh().report is None


def test_what_changed_and_went_while_the_entries_were_lost_is_found(library: Library) -> None:
    library.entries.unlink()
    shutil.rmtree(library.skills / "two")
    library.write_skill("one", "About walruses and their tusks.")
    library.write_skill("three", "About otters.")
    report = library.desk().refresh().report
    assert report is not None
    assert (report.written, report.removed, report.rebuilt) == (2, 1, False)
    library.assert_mended(library.verified(), embedded=2)


def test_a_server_that_writes_nothing_does_not_serve_an_index_whose_entries_are_lost_as_empty(
    library: Library,
) -> None:
    library.entries.unlink()
    view = library.desk(automatic=False).refresh()
    assert view.problem is not None
    assert "what was read from the skills is lost" in view.problem.message
    assert view.problem.hint == "run skillhub index --repair"


@pytest.mark.slow
def test_a_server_goes_on_when_its_entries_are_deleted_under_it(library: Library) -> None:
    desk = library.desk()
    desk.refresh()
    library.entries.unlink()
    library.write_skill("three", "About otters.")
    report = desk.refresh().report
    assert report is not None
    assert (report.written, report.rebuilt) == (1, False)
    library.assert_mended(library.verified(), embedded=1)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [Path.unlink, cut, noise, flip])
@pytest.mark.parametrize(
    ("pattern", "part"),
    [("postings-*", IndexPart.POSTINGS), ("statistics-*", IndexPart.STATISTICS)],
    ids=["postings", "counts"],
)
def test_what_is_derived_is_made_again_from_the_table(
    library: Library, pattern: str, part: IndexPart, spoil: Callable[[Path], object]
) -> None:
    version = library.desk().published().table_version
    file = library.newest(pattern)
    spoil(file)
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (part, spoil is Path.unlink)
    assert file.name in damage.what
    view = library.verified()
    library.assert_mended(view)
    assert (view.report, library.desk().published().table_version) == (None, version)


@pytest.mark.slow
def test_the_process_that_has_the_index_open_makes_its_lost_statistics_again_each_time(library: Library) -> None:
    desk = library.desk()
    desk.refresh()
    for _ in range(2):
        lost = library.newest("statistics-*.npz")
        lost.unlink()
        assert [damage.part for damage in library.damages()] == [IndexPart.STATISTICS]
        view = desk.refresh(SyncDepth.VERIFY)
        # Before another process could have made it.
        assert lost.exists()
        library.assert_mended(view)


@pytest.mark.parametrize(
    "pattern", ["skills.lance/data/*", "skills.lance/_versions/*.manifest", "skills.lance/_indices/*/part_0_docs.lance"]
)
def test_a_damaged_table_is_written_anew_with_the_vectors_beside_it(library: Library, pattern: str) -> None:
    for file in library.db.glob(pattern):
        flip(file)
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (IndexPart.TABLE, False)
    view = library.verified()
    library.assert_mended(view)
    assert view.report is not None
    assert (view.report.reason, view.report.rebuilt) == ("it is damaged", True)


def test_of_a_damaged_table_only_the_text_that_changed_meanwhile_is_embedded(library: Library) -> None:
    for file in library.db.glob("skills.lance/data/*"):
        flip(file)
    library.write_skill("two", "About elephant seals.")
    library.assert_mended(library.verified(), embedded=1)


def test_vectors_that_may_be_of_other_texts_are_not_taken_from_beside_the_table(library: Library) -> None:
    library.embedder.fails = True
    library.write_skill("two", "About elephant seals.")
    library.desk().refresh()
    library.embedder.fails = False
    for file in library.db.glob("skills.lance/data/*"):
        flip(file)
    library.assert_mended(library.verified(), embedded=2)


@pytest.mark.slow
def test_rows_that_are_not_of_the_files_are_written_again(library: Library) -> None:
    import lancedb

    table = lancedb.connect(library.db).open_table(FIRST_TABLE)
    table.update(where="name = 'one'", values={"content_hash": "another"})
    state = json.loads(library.state.read_text(encoding="utf-8"))
    library.state.write_text(json.dumps({**state, "table_version": table.version}), encoding="utf-8")
    assert {damage.part for damage in library.damages()} == {IndexPart.ROWS, IndexPart.STATISTICS, IndexPart.POSTINGS}
    report = library.verified().report
    assert report is not None
    assert (report.written, report.rebuilt) == (1, False)
    assert library.damages() == ()


@pytest.mark.slow
def test_a_state_that_is_wrong_about_vectors_is_put_right(library: Library) -> None:
    written = json.loads(library.state.read_text(encoding="utf-8"))
    written["roots"]["hub"]["missing_vectors"] = 1
    library.state.write_text(json.dumps(written), encoding="utf-8")
    (damage,) = library.damages()
    assert damage.part is IndexPart.VECTORS
    library.assert_mended(library.verified())
    assert library.desk().published().roots[str(library.skills)].missing_vectors == 0


@pytest.mark.slow
@pytest.mark.parametrize("year", [1980, 2090])
def test_a_clock_that_is_set_back_or_ahead_hides_no_change(
    library: Library, monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    desk = library.desk()
    desk.refresh()
    moved = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    monkeypatch.setattr(time, "time", lambda: moved)
    monkeypatch.setattr(time, "time_ns", lambda: int(moved * 1e9))
    for number, description in enumerate(("About otters.", "About elephant seals.")):
        skill = library.write_skill("two", description) / "SKILL.md"
        os.utime(skill, (moved + number, moved + number))
        desk.refresh()
        library.desk().refresh()
    assert desk.find("elephant") == ["two"]
    monkeypatch.undo()
    library.write_skill("two", "About walruses and seals.")
    desk.refresh()
    assert sorted(desk.find("walruses")) == ["one", "two"]
    assert library.damages() == ()


def test_a_table_without_a_state_is_told_and_a_library_without_an_index_is_not_damaged(
    library: Library, tmp_path: Path
) -> None:
    library.state.unlink()
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (IndexPart.STATE, True)
    assert Desk(tmp_path / "nowhere" / "skills.lancedb", library.skills).index_sync.damages() == ()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pread"), reason="all is read at once where a file cannot be read at a place")
def test_what_is_lost_of_one_skill_of_a_large_library_is_told_and_read_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_entries, "_MANY_BYTES", 0)
    content = library.entries.read_bytes()
    library.entries.write_bytes(content.replace(b'"About seals.",{', b'"About seals.",:'))
    assert library.entries.read_bytes() != content
    (told,) = library.damages()
    assert (told.part, told.mends_itself) == (IndexPart.STATE, True)
    library.assert_mended(library.verified())
    assert library.damages() == ()
