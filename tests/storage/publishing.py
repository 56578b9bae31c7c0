"""Publishing a test's own skills, and reading back what a reader would find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.hubs import hub_of
from tests.storage.conftest import Target

from skillhub_mcp.bootstrap.publication import library_to_publish, publication_rows
from skillhub_mcp.index.lance import LanceIndex
from skillhub_mcp.index.segment import check_pair, open_segment
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.statistics import load_statistics
from skillhub_mcp.settings import read_settings
from skillhub_mcp.storage.lance_rows import TABLE, LanceRows
from skillhub_mcp.storage.library import LibraryToStore
from skillhub_mcp.storage.manifest import SnapshotManifest, StoredSkill, segment_path
from skillhub_mcp.storage.publish import PublishOptions, PublishReport, publish
from skillhub_mcp.storage.reading import PublicationReader

OPTIONS = PublishOptions(publisher="a test")


@dataclass(frozen=True)
class Source:
    """A library on this machine: the environment of its hub."""

    environment: Mapping[str, str]

    @contextmanager
    def library(self) -> Iterator[LibraryToStore]:
        with hub_of(self.environment) as hub:
            yield library_to_publish(read_settings(self.environment)[0], hub)

    def publish(self, target: Target, **options: Any) -> PublishReport:
        with self.library() as library:
            return publish(library, target.open(), rows_at(target), replace(OPTIONS, **options))


def rows_at(target: Target) -> Any:
    settings = read_settings({"SKILLHUB_STORAGE_OPTIONS": ",".join(f"{k}={v}" for k, v in target.options.items())})[0]
    return publication_rows(settings, target.url, target.open())


@dataclass(frozen=True)
class Found:
    """What a reader finds in the current snapshot."""

    id: str
    manifest: SnapshotManifest
    skills: Mapping[str, StoredSkill]
    files: Mapping[str, bytes]

    @property
    def keys(self) -> list[str]:
        return sorted(self.skills)


def found_at(target: Target, snapshot: str = "") -> Found:
    """Read a snapshot, the current one if none is named, with every byte of its files."""
    reader = PublicationReader(target.open(), pause=lambda _: None)
    pointer, _ = reader.pointer()
    listed = pointer.find(snapshot or pointer.current)
    assert listed is not None
    manifest = reader.snapshot(listed)
    skills = {skill.key: skill for skill in reader.skills(manifest)}
    files = {f"{key}/{file.path}": reader.read_file(file) for key, skill in skills.items() for file in skill.files}
    assert sum(shard.skills for shard in manifest.shards) == len(skills) == manifest.skills == listed.skills
    assert {file.pack for skill in skills.values() for file in skill.files if file.size} == {
        pack.sha256 for pack in manifest.packs
    }
    return Found(listed.id, manifest, skills, files)


def rows_of(target: Target, found: Found) -> list[dict[str, Any]]:
    """Return the rows of the LanceDB table in the version that the snapshot names, as somebody else's program would."""
    import lancedb

    stored = found.manifest.index.rows
    assert stored is not None
    table = lancedb.connect(f"{target.open().name}/lance", storage_options=target.options or None).open_table(TABLE)
    assert int(table.tags.get_version(stored.tag)) == stored.version
    table.checkout(stored.version)
    return sorted(table.to_arrow().to_pylist(), key=lambda row: str(row["path"]))


def index_of(target: Target, found: Found, folder: Path) -> SkillIndex:
    """Open the segments and statistics of a snapshot, fetched to a folder, as a read-only server does."""
    reader, index = PublicationReader(target.open()), found.manifest.index
    paths = []
    for ref in (*index.segments, index.statistics):
        paths.append(folder / ref.sha256)
        reader.fetch(segment_path(ref.sha256), ref, str(paths[-1]))
    segments = [open_segment(str(path), index.table_id) for path in paths[:-1]]
    if len(segments) > 1:
        check_pair(segments[0], segments[1])
    statistics = load_statistics(str(paths[-1]), index.table_id)
    return SkillIndex(segments, statistics, version=1, table_id=index.table_id, open_table=_no_table)


def _no_table() -> LanceIndex:
    raise AssertionError("LanceDB is not asked")


__all__ = ["Found", "LanceRows", "Source", "found_at", "index_of", "rows_at", "rows_of"]
