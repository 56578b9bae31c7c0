"""The file with a small library's rows: it saves loading LanceDB, and whatever happens to it changes no answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import index_of, make_skill, names, row

from skillhub_mcp.index.features import decode_features
from skillhub_mcp.index.held_index import HeldIndex
from skillhub_mcp.index.held_rows import HeldRows, load_rows, save_rows
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex
from skillhub_mcp.index.lance_store import LanceStore

LIBRARY = [
    make_skill(f"skill-{number}", f"Sorts {what}.") for number, what in enumerate(("stamps", "coins", "Ünïcødé"))
]
Published = tuple[LanceStore, int, str]


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """A store, the version to open, and the id of its table."""
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(skill) for skill in LIBRARY], dimension=None)
    return store, version, store.open(version).table_id


def kept(store: LanceStore) -> list[str]:
    return sorted(name for name in os.listdir(store.db_path) if name.startswith("rows-"))


def without_lancedb(store: LanceStore) -> LanceStore:
    """A store for the same database that fails where it would load LanceDB."""

    class Unloadable(LanceStore):
        def _connect(self) -> object:
            raise OSError("LanceDB is not to be loaded")

    return Unloadable(store.db_path)


def test_a_small_library_is_searched_without_lancedb(published: Published) -> None:
    store, version, table_id = published
    index = without_lancedb(store).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert names(index, "unicode", among=LIBRARY) == ["skill-2"]


def test_a_larger_library_is_searched_in_lancedb_and_has_no_file(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"), held_rows=2)
    version = store.rebuild([row(skill) for skill in LIBRARY], dimension=None)
    index = store.open(version)
    assert isinstance(index._before, LanceIndex)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert kept(store) == []


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("spoil", [Path.unlink, cut_in_half, flip_a_byte, lambda file: file.write_bytes(b"")])
@pytest.mark.parametrize("kind", ["rows", "statistics"])
def test_a_file_that_is_lost_or_damaged_is_written_again(
    published: Published, kind: str, spoil: Callable[[Path], object]
) -> None:
    store, version, table_id = published
    (file,) = Path(store.db_path).glob(f"{kind}-*.npz")
    before = file.read_bytes()
    spoil(file)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert file.read_bytes() == before
    assert isinstance(without_lancedb(store).open(version, created_as=table_id)._before, HeldIndex)


def test_no_byte_of_its_list_of_entries_can_change_unnoticed(tmp_path: Path) -> None:
    """The list at the end has no checksum: a longer comment to one entry hides the next ones."""
    features = [decode_features(row(skill).features.encoded) for skill in LIBRARY]
    vectors = np.eye(len(LIBRARY), 16, dtype=np.float32)
    rows = HeldRows([skill.directory for skill in LIBRARY], features, vectors, np.ones(len(LIBRARY), dtype=bool))
    file = tmp_path / "rows.npz"
    save_rows(str(file), rows, "id")
    whole = file.read_bytes()
    # Every other byte: either byte of a length will do.
    for place in range(whole.index(b"PK\1\2"), len(whole), 2):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read = load_rows(str(file), "id")
        except (OSError, ValueError):
            continue
        assert read.directories == rows.directories
        assert read.vectors is not None
        assert (read.vectors == vectors).all()


def test_a_file_of_another_table_is_not_taken(published: Published, tmp_path: Path) -> None:
    store, version, table_id = published
    other = LanceStore(str(tmp_path / "other"))
    same = other.rebuild([row(make_skill("other", "Sorts coins."))], dimension=None)
    other.open(same)
    (theirs,) = kept(other)
    os.replace(Path(other.db_path) / theirs, Path(store.db_path) / kept(store)[0])
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]


def test_where_the_file_cannot_be_written_the_library_is_searched_all_the_same(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, version, table_id = published
    (Path(store.db_path) / kept(store)[0]).unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skillhub_mcp.index.lance_store.save_rows", full)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert kept(store) == []


def test_a_change_is_in_the_next_file_and_old_files_go(published: Published) -> None:
    store, version, table_id = published
    # As writers that were killed leave them, today and in earlier releases.
    for left in ("rows-skills-1.npz.7-7.new", "statistics-skills-1.npz.new"):
        (Path(store.db_path) / left).touch()
    for number in range(3):
        changed = make_skill("skill-1", f"Polishes brass {number}.")
        version = store.update([row(changed)], removed=[], dimension=None, published=version)
        store.open(version, created_as=table_id)
    index = without_lancedb(store).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == []
    assert names(index, "brass", among=LIBRARY) == ["skill-1"]
    # The last one, and the one that readers of the version before may still open.
    assert len(kept(store)) == 2
    assert not list(Path(store.db_path).glob("*.new"))


def test_a_library_that_outgrew_memory_leaves_no_file_behind(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"), held_rows=2)
    version = store.rebuild([row(skill) for skill in LIBRARY[:2]], dimension=None)
    store.open(version)
    for skill in (LIBRARY[2], make_skill("skill-3", "Sorts shells.")):
        version = store.update([row(skill)], removed=[], dimension=None, published=version)
        store.open(version)
    assert kept(store) == []


def test_rows_are_searched_while_their_table_is_damaged_and_the_table_says_so(published: Published) -> None:
    store, version, table_id = published
    for manifest in (Path(store.db_path) / "skills.lance" / "_versions").glob("*.manifest"):
        flip_a_byte(manifest)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    with pytest.raises(IndexDamaged):
        assert index.table.stored()


def test_the_table_of_rows_in_memory_is_the_version_that_they_are_of(published: Published) -> None:
    store, version, table_id = published
    index = store.open(version, created_as=table_id)
    store.update([row(make_skill("skill-9", "Sorts shells."))], removed=[], dimension=None, published=version)
    assert index.table.version == version
    assert index.table.stored().keys() == {skill.directory for skill in LIBRARY}


def test_a_table_in_memory_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillhub_mcp.index.lance_store import IN_MEMORY

    monkeypatch.chdir(tmp_path)
    store = LanceStore(IN_MEMORY)
    index = store.open(store.rebuild([row(skill) for skill in LIBRARY], dimension=None))
    assert isinstance(index._before, HeldIndex)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert list(tmp_path.iterdir()) == []


def test_lancedb_finds_what_the_rows_in_memory_find(published: Published, tmp_path: Path) -> None:
    store, version, table_id = published
    in_lancedb = index_of(tmp_path / "other", LIBRARY)
    for query in ("stamps", "sorts", "coins stamps", "nothing of the kind"):
        held = store.open(version, created_as=table_id)
        assert sorted(names(held, query, among=LIBRARY)) == sorted(names(in_lancedb, query, among=LIBRARY))
