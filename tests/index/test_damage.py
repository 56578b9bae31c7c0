"""What is damaged in an index is reported part by part, and repaired by a sync that verifies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.search.builders import Desk, WordEmbedder

from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.index_files import STATE_FILE
from skillhub_mcp.index.maintenance import damages_of
from skillhub_mcp.index.views import SyncDepth

Writer = Callable[..., Path]


class Library:
    """Two skills that are indexed and embedded, and what the files of their index are."""

    def __init__(self, place: Path, skills: Path, write_skill: Writer) -> None:
        self.db, self.skills = place / "db" / "skills.lancedb", skills
        self.embedder = WordEmbedder()
        write_skill("one", "About walruses.")
        write_skill("two", "About seals.")
        self.desk().sync()

    def desk(self) -> Desk:
        return Desk(self.db, self.skills, embedder=self.embedder)

    def damages(self) -> tuple[Damage, ...]:
        return damages_of(self.desk().writer)

    def assert_repaired(self) -> None:
        assert self.desk().sync(SyncDepth.VERIFY).problem is None
        assert self.damages() == ()
        assert self.desk().find("walruses") == ["one"]


@pytest.fixture
def library(tmp_path: Path, skills_dir: Path, write_skill: Writer) -> Library:
    return Library(tmp_path, skills_dir, write_skill)


def test_a_sound_index_and_no_index_are_not_damaged(library: Library, tmp_path: Path) -> None:
    assert library.damages() == ()
    assert damages_of(Desk(tmp_path / "nowhere" / "skills.lancedb", library.skills).writer) == ()


@pytest.mark.parametrize("pattern", ["data/*", "_versions/*"])
def test_a_damaged_table_is_written_again(library: Library, pattern: str) -> None:
    for file in (library.db / "skills.lance").glob(pattern):
        file.write_bytes(b"noise")
    assert [one.part for one in library.damages()] == [IndexPart.TABLE]
    library.assert_repaired()


def test_lost_statistics_are_counted_again(library: Library) -> None:
    for file in library.db.glob("statistics-*"):
        file.unlink()
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (IndexPart.STATISTICS, True)
    assert library.desk().find("walruses") == ["one"]
    library.assert_repaired()


def test_rows_that_another_program_changed_are_written_again(library: Library) -> None:
    state = library.desk().writer.state()
    assert state is not None
    version = library.desk().writer.store(state.table).update(state.published.version, (), removed={"hub/one"})
    path = library.db.with_name(STATE_FILE)
    written = json.loads(path.read_text(encoding="utf-8"))
    written["table"]["version"] = version.version
    path.write_text(json.dumps(written), encoding="utf-8")
    assert [one.part for one in library.damages()] == [IndexPart.ROWS]
    library.assert_repaired()


def test_a_table_without_a_state_is_reported(library: Library) -> None:
    library.db.with_name(STATE_FILE).unlink()
    (damage,) = library.damages()
    assert (damage.part, damage.mends_itself) == (IndexPart.STATE, True)
    library.assert_repaired()


def test_a_deleted_table_is_written_again(library: Library) -> None:
    shutil.rmtree(library.db)
    assert [one.part for one in library.damages()] == [IndexPart.TABLE]
    library.assert_repaired()
