"""The files that are searched: they save loading LanceDB, and whatever happens to them changes no answer."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.search.builders import make_skill, names, row

from skillhub_mcp.index import mapped_arrays, segment_files
from skillhub_mcp.index.damage import Damage, IndexPart
from skillhub_mcp.index.keys import LibraryKeys, PathKeys
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.lance_store import IN_MEMORY, LanceStore
from skillhub_mcp.index.rows import StoredVector
from skillhub_mcp.index.segment import Segment, open_segment
from skillhub_mcp.index.skill_index import SkillIndex

LIBRARY = [
    make_skill(f"skill-{number}", f"Sorts {what}.") for number, what in enumerate(("stamps", "coins", "Ünïcødé"))
]
MANY = [make_skill(f"skill-{number:03}", f"Sorts number{number}.") for number in range(100)]
Published = tuple[LanceStore, int, str]


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """A store, the version to open, and the id of its table."""
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(skill) for skill in LIBRARY], dimension=None)
    return store, version, store.open(version).table_id


@pytest.fixture
def large(tmp_path: Path) -> Published:
    """The same of a library that is large enough for additions; the version has one."""
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([row(skill) for skill in MANY], dimension=None)
    changed = make_skill(MANY[7].name, "Polishes brass.")
    version = store.update([row(changed)], removed=[MANY[8].directory], dimension=None, published=version)
    return store, version, store.open(version).table_id


def kept(store: LanceStore) -> list[Path]:
    """The files with postings, the oldest version first."""
    return sorted(Path(store.db_path).glob("postings-*"), key=version_of)


def version_of(file: Path) -> int:
    return int(file.name.split(".")[0].rsplit("-", 1)[1])


def without_lancedb(store: LanceStore) -> LanceStore:
    """A store for the same database that fails where it would load LanceDB."""

    class Unloadable(LanceStore):
        def _connect(self) -> object:
            raise OSError("LanceDB is not to be loaded")

    return Unloadable(store.db_path)


def in_lancedb(store: LanceStore, version: int) -> set[str]:
    return set(store.open_table(version).stored())


def directories(index: SkillIndex) -> list[str]:
    return sorted(filter(None, index.directories))


def test_a_library_is_searched_without_lancedb(published: Published) -> None:
    store, version, table_id = published
    index = without_lancedb(store).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert names(index, "unicode", among=LIBRARY) == ["skill-2"]


def test_what_is_mapped_is_searched_as_what_is_read(large: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_arrays, "READ_BYTES", 0)
    store, version, table_id = large
    index = without_lancedb(store).open(version, created_as=table_id)
    assert names(index, "brass", among=MANY) == ["skill-007"]
    assert names(index, "number7 number8", among=MANY) == []
    assert len(names(index, "sorts", among=MANY)) == 98


def test_what_a_link_beside_the_table_leads_to_is_not_written_and_a_pipe_is_not_waited_for(
    large: Published, tmp_path: Path
) -> None:
    store, version, table_id = large
    somebodys = tmp_path / "somebodys.txt"
    somebodys.write_text("precious")
    (statistics,) = Path(store.db_path).glob(f"statistics-*-{version}.npz")
    checksums = Path(store._checksums_path)
    for file in (kept(store)[-1], statistics, checksums):
        file.unlink()
        file.symlink_to(somebodys)
    assert names(LanceStore(store.db_path).open(version, created_as=table_id), "brass", among=MANY) == ["skill-007"]
    store.update([row(MANY[3])], removed=[], dimension=None, published=version)
    assert somebodys.read_text() == "precious"
    for file in (kept(store)[-1], statistics, checksums):
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    assert names(LanceStore(store.db_path).open(version, created_as=table_id), "brass", among=MANY) == ["skill-007"]


def test_files_are_their_owners_alone(large: Published) -> None:
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept(large[0])} == {0o600}


def cut_in_half(file: Path) -> None:
    replace(file, file.read_bytes()[: file.stat().st_size // 2])


def flip_a_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    # The last one, as not all of the middle is in use.
    content[-1] ^= 0xFF
    replace(file, bytes(content))


def empty(file: Path) -> None:
    replace(file, b"")


def replace(file: Path, content: bytes) -> None:
    # In its place, as nobody who maps it may find it shorter.
    new = file.with_name("spoilt")
    new.write_bytes(content)
    os.replace(new, file)


@pytest.mark.parametrize("spoil", [Path.unlink, cut_in_half, flip_a_byte, empty])
@pytest.mark.parametrize("kind", ["postings", "statistics"])
def test_a_file_that_is_lost_or_damaged_is_written_again(
    published: Published, kind: str, spoil: Callable[[Path], object]
) -> None:
    store, version, table_id = published
    (file,) = Path(store.db_path).glob(f"{kind}-*")
    spoil(file)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    again = without_lancedb(store).open(version, created_as=table_id)
    assert names(again, "coins", among=LIBRARY) == ["skill-1"]


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [Path.unlink, cut_in_half, flip_a_byte, empty])
@pytest.mark.parametrize("which", [0, 1], ids=["the base", "the addition"])
def test_an_addition_and_its_base_are_written_again_as_one(
    large: Published, which: int, spoil: Callable[[Path], object]
) -> None:
    store, version, table_id = large
    spoil(kept(store)[which])
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert set(directories(index)) == in_lancedb(store, version)
    assert names(index, "brass", among=MANY) == ["skill-007"]
    assert "" not in without_lancedb(store).open(version, created_as=table_id).directories


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1], ids=["the base", "the addition"])
def test_a_large_file_that_changed_is_told_by_whoever_reads_all_of_it(
    large: Published, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped_arrays, "READ_BYTES", 0)
    store, version, table_id = large
    assert list(store.damages(version, created_as=table_id)) == []
    file = kept(store)[which]
    flip_a_byte(file)
    (damage,) = store.damages(version, created_as=table_id)
    assert damage == Damage(IndexPart.POSTINGS, f"{file.name} is damaged")
    file.unlink()
    (damage,) = store.damages(version, created_as=table_id)
    assert damage == Damage(IndexPart.POSTINGS, f"missing: {file.name}", mends_itself=True)


def test_numbers_of_skills_that_there_are_not_are_damage(large: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    store, version, table_id = large
    monkeypatch.setattr(mapped_arrays, "READ_BYTES", 0)
    monkeypatch.setattr(segment_files, "open_segment", spoilt_owners(open_segment))
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    with pytest.raises(IndexDamaged):
        index.postings("sort")


def spoilt_owners(opened: Callable[..., Segment]) -> Callable[..., Segment]:
    def spoil(path: str, table_id: str, *, known: Sequence[Segment] = ()) -> Segment:
        segment = opened(path, table_id, known=known)
        owners = np.full_like(segment.skills.owners, -1)
        return dataclasses.replace(segment, skills=dataclasses.replace(segment.skills, owners=owners))

    return spoil


def test_what_did_not_change_is_read_once_while_anybody_has_it(large: Published) -> None:
    store, version, table_id = large
    before = store.open(version, created_as=table_id)
    changed = make_skill(MANY[9].name, "Winds clocks.")
    version = store.update([row(changed)], removed=[MANY[10].directory], dimension=None, published=version)
    index = store.open(version, created_as=table_id)
    assert index.segments[0].stored is before.segments[0].stored
    anew = LanceStore(store.db_path).open(version, created_as=table_id)
    assert anew.segments[0].stored is not before.segments[0].stored
    assert index.directories == anew.directories
    assert set(directories(index)) == in_lancedb(store, version)
    assert names(index, "clocks brass", among=MANY) == names(anew, "clocks brass", among=MANY)
    # Who goes on with the version before has what it had.
    assert MANY[10].directory in before.directories


def test_a_file_that_was_replaced_meanwhile_is_read(large: Published) -> None:
    store, version, table_id = large
    before = store.open(version, created_as=table_id)
    base, _ = kept(store)
    base.write_bytes(base.read_bytes())
    os.utime(base, ns=(1, 1))
    index = store.open(version, created_as=table_id)
    assert index.segments[0].stored is not before.segments[0].stored
    assert index.directories == before.directories
    empty(base)
    assert set(directories(store.open(version, created_as=table_id))) == in_lancedb(store, version)


def test_with_other_labels_of_roots_the_directories_are_worked_out_anew(large: Published) -> None:
    store, version, table_id = large
    before = store.open(version, created_as=table_id, keys=LibraryKeys({"/one": "hub"}))
    assert directories(store.open(version, created_as=table_id, keys=LibraryKeys({"/one": "hub"}))) == []
    assert before.keys == LibraryKeys({"/one": "hub"}) != PathKeys()
    assert set(directories(store.open(version, created_as=table_id))) == in_lancedb(store, version)


def test_a_skill_that_the_version_before_lacks_and_this_one_has_is_not_forgotten(large: Published) -> None:
    store, version, table_id = large
    base = version_of(kept(store)[0])
    later = store.open(version, created_as=table_id)
    earlier = store.open(base, created_as=table_id)
    assert earlier.segments[0].stored is later.segments[0].stored
    assert MANY[8].directory in earlier.directories
    assert set(directories(earlier)) == in_lancedb(store, base)


def test_a_file_of_another_table_is_not_taken(published: Published, tmp_path: Path) -> None:
    store, version, table_id = published
    other = LanceStore(str(tmp_path / "other"))
    other.rebuild([row(make_skill("other", "Sorts coins."))], dimension=None)
    (theirs,), (ours,) = kept(other), kept(store)
    os.replace(theirs, ours)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]


def test_an_addition_to_a_base_that_was_written_anew_is_not_taken(large: Published) -> None:
    store, version, table_id = large
    base, _ = kept(store)
    base.unlink()
    # As another process does that still has the version before: in whichever order its rows came.
    store.open(version_of(base), created_as=table_id)
    assert base.exists()
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert set(directories(index)) == in_lancedb(store, version)
    assert "" not in index.directories


def test_where_files_cannot_be_written_the_library_is_searched_all_the_same(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, version, table_id = published
    kept(store)[0].unlink()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segment_files, "replacing", full)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    changed = make_skill("skill-1", "Polishes brass.")
    version = store.update([row(changed)], removed=[], dimension=None, published=version)
    assert names(store.open(version, created_as=table_id), "brass", among=LIBRARY) == ["skill-1"]
    assert kept(store) == []


def test_a_change_writes_what_changed_and_old_files_go(large: Published) -> None:
    store, version, table_id = large
    base = kept(store)[0].stat().st_size
    # As writers that were killed leave them, today and in earlier releases.
    left = ("rows-skills-1.npz", "rows-skills-1.npz.7-7.new", "statistics-skills-1.npz.new", "postings-skills-1.arrays")
    for name in (*left, "postings-skills-1.arrays.7-7.new"):
        (Path(store.db_path) / name).touch()
    for number in range(3):
        changed = make_skill("skill-001", f"Polishes silver {number}.")
        version = store.update([row(changed)], removed=[], dimension=None, published=version)
    index = without_lancedb(store).open(version, created_as=table_id)
    assert names(index, "number1", among=MANY) == []
    assert names(index, "silver", among=MANY) == ["skill-001"]
    assert names(index, "brass", among=MANY) == ["skill-007"]
    # The base, the last addition, and the one that readers of the version before may still open.
    assert len(kept(store)) == 3
    assert sorted(file.stat().st_size < base for file in kept(store)) == [False, True, True]
    assert not list(Path(store.db_path).glob("*.new"))
    assert not list(Path(store.db_path).glob("rows-*"))


@pytest.mark.parametrize(("count", "at_once"), [(5, False), (40, True)])
def test_many_changes_are_merged_behind_the_update_and_very_many_by_it(
    large: Published, count: int, *, at_once: bool
) -> None:
    store, version, table_id = large
    changed = [make_skill(skill.name, "Polishes silver.") for skill in MANY[50 : 50 + count]]
    before = version
    version = store.update(
        [row(skill) for skill in changed], removed=[MANY[0].directory], dimension=None, published=version
    )
    updated = without_lancedb(store).open(version, created_as=table_id)
    assert (len(updated.segments) == 1) is at_once
    assert not store.is_tidy
    tidied = store.tidy(version)
    merged = without_lancedb(store).open(tidied, created_as=table_id)
    assert len(merged.segments) == 1
    assert "" not in merged.directories
    for index in (updated, without_lancedb(store).open(version, created_as=table_id), merged):
        assert directories(index) == sorted(skill.directory for skill in MANY if skill not in (MANY[0], MANY[8]))
        assert len(names(index, "silver", among=MANY)) == count
        assert names(index, "brass", among=MANY) == ["skill-007"]
    assert names(without_lancedb(store).open(before, created_as=table_id), "number52", among=MANY) == ["skill-052"]


@pytest.mark.parametrize("links", [True, False])
def test_of_a_version_with_the_same_rows_nothing_is_written_again_and_both_are_searched(
    large: Published, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    store, version, table_id = large

    def refused(*_: object) -> None:
        raise PermissionError("this file system has no links")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    base, addition = kept(store)
    files = segment_files.SegmentFiles(store.db_path, store.table)
    for _ in range(2):
        files.keep_as(version, version + 7)
    *_, same = kept(store)
    assert kept(store) == [base, addition, same]
    assert same.samefile(addition) == links
    assert same.read_bytes() == addition.read_bytes()
    assert stat.S_IMODE(same.stat().st_mode) == stat.S_IMODE(addition.stat().st_mode)
    files.remove(version + 7)
    assert kept(store) == [base, same]
    assert len(files.open(version + 7, table_id)) == 2
    with pytest.raises(FileNotFoundError):
        files.keep_as(version, version + 8)
    assert kept(store) == [base, same]


def test_vectors_that_come_later_are_an_addition_too(large: Published) -> None:
    store, version, table_id = large
    vectors = {MANY[number].directory: StoredVector("text", [0.6, 0.8]) for number in (3, 7)}
    version = store.add_vectors(vectors, dimension=2, published=version)
    index = without_lancedb(store).open(version, created_as=table_id)
    nearest = index.nearest([1.0, 0.0], 9, frozenset(index.directories))
    assert {index.directories[number] for number in nearest.tolist()} == vectors.keys()
    assert index.cosines([1.0, 0.0], nearest).tolist() == pytest.approx([0.6, 0.6])
    assert index.lacks_vectors
    assert names(index, "brass number3", among=MANY) == ["skill-003", "skill-007"]
    other = {MANY[4].directory: StoredVector("text", [1.0, 0.0, 0.0])}
    version = store.add_vectors(other, dimension=3, published=version)
    index = store.open(version, created_as=table_id)
    assert index.dimension == 3
    assert len(index.nearest([1.0, 0.0, 0.0], 9, frozenset(index.directories))) == 1


def test_files_are_searched_while_their_table_is_damaged_and_the_table_says_so(published: Published) -> None:
    store, version, table_id = published
    for manifest in (Path(store.db_path) / "skills.lance" / "_versions").glob("*.manifest"):
        cut_in_half(manifest)
    index = LanceStore(store.db_path).open(version, created_as=table_id)
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    with pytest.raises(IndexDamaged):
        index.table.stored()


def test_the_table_of_an_index_is_the_version_that_it_is_of(published: Published) -> None:
    store, version, table_id = published
    index = store.open(version, created_as=table_id)
    store.update([row(make_skill("skill-9", "Sorts shells."))], removed=[], dimension=None, published=version)
    assert index.table.version == version
    assert index.table.stored().keys() == {skill.directory for skill in LIBRARY}


def test_an_index_in_memory_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = LanceStore(IN_MEMORY)
    index = store.open(store.rebuild([row(skill) for skill in LIBRARY], dimension=None))
    assert names(index, "coins", among=LIBRARY) == ["skill-1"]
    assert list(tmp_path.iterdir()) == []


def test_an_empty_library_finds_nothing(tmp_path: Path) -> None:
    store = LanceStore(str(tmp_path / "db"))
    version = store.rebuild([], dimension=None)
    for _ in range(2):
        index = store.open(version, created_as=store.open_table(version).table_id)
        assert (index.statistics.skills, len(index.postings("stamp")[0])) == (0, 0)
        assert index.nearest([1.0], 9, frozenset()).tolist() == []
