"""Publications for tests: written from directories of skills, in the format that replicas read, into any store.

It indexes by text alone, which takes milliseconds; `skillhub publish` is tried with replicas where both are tried.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.index.inverted import encode_features

from skillhub_mcp.index.features import decode_features
from skillhub_mcp.index.segment_files import SegmentFiles
from skillhub_mcp.index.statistics import StatisticsBuilder, save_statistics
from skillhub_mcp.skills.documents import read_document
from skillhub_mcp.skills.files import list_files
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import SkillRoot, Source, distinct_roots
from skillhub_mcp.skills.scanner import scan
from skillhub_mcp.storage.manifest import (
    POINTER,
    CommitPointer,
    ListedSnapshot,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredIndex,
    StoredRoot,
    StoredShard,
    StoredSkill,
    manifest_json,
    pack_path,
    pointer_json,
    segment_path,
    shard_json,
    shard_path,
    snapshot_id,
    snapshot_path,
)
from skillhub_mcp.storage.object_store import ObjectStore
from skillhub_mcp.storage.reading import PublicationReader

_TABLE_ID = "0123456789abcdef"


def ref_of(content: bytes) -> ObjectRef:
    return ObjectRef(hashlib.sha256(content).hexdigest(), len(content))


@dataclass
class Publishing:
    """Publishes the skills below `roots` to a store, one snapshot after another."""

    store: ObjectStore
    roots: Sequence[Path]
    shards: int = 4
    sources: Sequence[Source] = ()
    listed: list[ListedSnapshot] = field(default_factory=list)
    packs: dict[str, ObjectRef] = field(default_factory=dict)

    def publish(self, *, commit: bool = True) -> ListedSnapshot:
        """Publish what is there now; without `commit` the pointer stays as it was."""
        roots = self._labelled()
        snapshot = scan(tuple(roots.values()), memory={}).snapshot
        labels = {root.path: label for label, root in roots.items()}
        stored, bodies = [], {}
        for skill in snapshot.everything:
            key = f"{labels[skill.root]}{skill.directory[len(skill.root) :]}"
            stored.append(self._stored(skill, key, labels[skill.root]))
            bodies[key] = read_document(skill).instructions
        segment, statistics = self._index(stored, bodies)
        manifest = SnapshotManifest(
            created_at=f"2026-11-22T18:{len(self.listed):02}:00Z",
            digest=snapshot.digest,
            skills=len(stored),
            bytes=sum(file.size for one in stored for file in one.files),
            roots=tuple(StoredRoot(label, root.source.value) for label, root in roots.items()),
            shards=tuple(self._shard(stored, number) for number in range(self.shards)),
            packs=tuple(self.packs[pack] for pack in sorted({file.pack for one in stored for file in one.files})),
            index=StoredIndex(3, _TABLE_ID, "none", "none", len(stored), (segment,), statistics, statistics, None),
        )
        content = manifest_json(manifest)
        number = len(self.listed) + 1
        listed = ListedSnapshot(
            snapshot_id(number, ref_of(content)),
            ref_of(content),
            manifest.created_at,
            len(stored),
            manifest.bytes,
            "a test",
            "0.1.0",
        )
        self.store.put(snapshot_path(listed.id), content)
        self.listed.insert(0, listed)
        if commit:
            self.commit(listed)
        return listed

    def commit(self, listed: ListedSnapshot) -> None:
        """Make a snapshot the current one."""
        found = PublicationReader(self.store).pointer_if_any()
        before, etag = (CommitPointer(), None) if found is None else found
        pointer = replace(before, current=listed.id, snapshots=tuple(self.listed))
        self.store.replace(POINTER, pointer_json(pointer), etag)

    def _labelled(self) -> dict[str, SkillRoot]:
        sources = self.sources or [Source.HUB] * len(self.roots)
        labelled: dict[str, SkillRoot] = {}
        for path, source in zip(self.roots, sources, strict=True):
            (root,) = distinct_roots([(source, str(path))])
            label, number = source.value, 1
            while label in labelled:
                number += 1
                label = f"{source.value}-{number}"
            labelled[label] = replace(root, priority=len(labelled) + 1)
        return labelled

    def _stored(self, skill: Skill, key: str, label: str) -> StoredSkill:
        listed, _ = list_files(skill.directory, serve_dotfiles=False)
        contents = [(file.path, Path(skill.directory, file.path)) for file in listed]
        pack = b"".join(place.read_bytes() for _, place in contents)
        digest, files, at = hashlib.sha256(pack).hexdigest(), [], 0
        for path, place in contents:
            content, executable = place.read_bytes(), bool(place.stat().st_mode & 0o100)
            files.append(StoredFile(path, len(content), ref_of(content).sha256, executable, digest, at))
            at += len(content)
        self.store.put(pack_path(digest), pack)
        self.packs[digest] = ref_of(pack)
        return StoredSkill(replace(skill, directory=key, root=label), tuple(files), embedded=False)

    def _shard(self, stored: Sequence[StoredSkill], number: int) -> StoredShard:
        own = [one for one in stored if int(ref_of(one.key.encode()).sha256[:8], 16) % self.shards == number]
        content = shard_json(own)
        self.store.put(shard_path(ref_of(content).sha256), content)
        return StoredShard(ref_of(content), len(own))

    def _index(self, stored: Sequence[StoredSkill], bodies: dict[str, str]) -> tuple[ObjectRef, ObjectRef]:
        with tempfile.TemporaryDirectory() as place:
            segments = SegmentFiles(place, "skills")
            builder, statistics = segments.builder(), StatisticsBuilder()
            for one in stored:
                features = encode_features(one.skill, bodies[one.key])
                builder.add(one.key, decode_features(features.encoded), None)
                statistics.add(features.encoded, features.words)
            segments.write(1, _TABLE_ID, builder)
            save_statistics(f"{place}/statistics", statistics.build(), _TABLE_ID)
            found = []
            for path in (next(Path(place).glob("postings-*")), Path(place, "statistics")):
                content = path.read_bytes()
                self.store.put(segment_path(ref_of(content).sha256), content)
                found.append(ref_of(content))
        return found[0], found[1]
