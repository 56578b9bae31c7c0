"""What one snapshot of a publication holds: the view of it, and where the files of each of its skills are.

It is opened from the mirror alone. What did not change since the generation before stays the same objects: shards are
read once, and a skill whose files are the same is the same `Skill`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from skillhub_mcp.errors import PublicationDamaged
from skillhub_mcp.index.lance import IndexDamaged, LanceIndex
from skillhub_mcp.index.segment import check_pair, open_segment
from skillhub_mcp.index.skill_index import SkillIndex
from skillhub_mcp.index.statistics import load_statistics
from skillhub_mcp.index.views import View
from skillhub_mcp.replicas.mirror import Mirror, MirroredPart
from skillhub_mcp.skills.admission import Admission
from skillhub_mcp.skills.model import HeaderShape, Skill
from skillhub_mcp.skills.roots import SOURCES, SkillRoot, Source
from skillhub_mcp.skills.scanner import CachedSkillFile, scan_from_cache
from skillhub_mcp.skills.snapshot import Snapshot
from skillhub_mcp.storage.manifest import (
    BadManifest,
    ListedSnapshot,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredSkill,
    pack_path,
    read_manifest,
    read_shard,
    segment_path,
    shard_path,
    snapshot_path,
)

Read = TypeVar("Read")

_VERSION_DIGITS = 32


class NotMirrored(Exception):
    """A part is not in the mirror, or is not what it was."""

    def __init__(self, part: MirroredPart) -> None:
        super().__init__(part.path)
        self.part = part


@dataclass(frozen=True, slots=True)
class HeldSkill:
    """A skill of a snapshot. `version` is a digest of its files, of `size` bytes, which its `shard` describes."""

    skill: Skill
    shape: HeaderShape
    version: str
    size: int
    shard: ObjectRef


# The skills of each shard, by its digest.
HeldShards = Mapping[str, tuple[HeldSkill, ...]]


@dataclass(frozen=True)
class Generation:
    """A snapshot that is served, and the view of it. `shards` are by digest, `skills` by key."""

    listed: ListedSnapshot
    manifest: SnapshotManifest
    view: View
    skills: Mapping[str, HeldSkill]
    shards: HeldShards

    @cached_property
    def packs(self) -> tuple[MirroredPart, ...]:
        """The packs that the files of all skills are in."""
        return tuple(MirroredPart(pack_path(ref.sha256), ref) for ref in self.manifest.packs)

    @cached_property
    def parts(self) -> tuple[MirroredPart, ...]:
        """What is needed of the publication, without the packs."""
        return (snapshot_part(self.listed), *shard_parts(self.manifest), *index_parts(self.manifest))

    def snapshot_for(self, admission: Admission) -> Snapshot:
        """Return the skills as other rules admit them."""
        return _snapshot(self.manifest, self.skills, admission)


def snapshot_part(listed: ListedSnapshot) -> MirroredPart:
    """Return the manifest of a snapshot."""
    return MirroredPart(snapshot_path(listed.id), listed.ref)


def shard_parts(manifest: SnapshotManifest) -> tuple[MirroredPart, ...]:
    """Return the shards of a snapshot."""
    return tuple(MirroredPart(shard_path(shard.ref.sha256), shard.ref) for shard in manifest.shards)


def index_parts(manifest: SnapshotManifest) -> tuple[MirroredPart, ...]:
    """Return the segments of a snapshot, and then its statistics."""
    index = manifest.index
    return tuple(MirroredPart(segment_path(ref.sha256), ref) for ref in (*index.segments, index.statistics))


def mirrored_manifest(mirror: Mirror, listed: ListedSnapshot) -> SnapshotManifest:
    """Return the manifest of a snapshot, from the mirror. Raises NotMirrored and PublicationDamaged."""
    part = snapshot_part(listed)
    return _parsed(mirror, part, read_manifest)


def mirrored_shard(mirror: Mirror, shard: ObjectRef) -> tuple[StoredSkill, ...]:
    """Return the skills of a shard with their files, from the mirror. Raises NotMirrored and PublicationDamaged."""
    return _parsed(mirror, MirroredPart(shard_path(shard.sha256), shard), read_shard)


def held_shards(mirror: Mirror, manifest: SnapshotManifest, before: HeldShards) -> HeldShards:
    """Return the shards of a snapshot by digest; those `before` are not read again.

    Raises NotMirrored and PublicationDamaged.
    """
    known = {held.skill.directory: held for shard in before.values() for held in shard}
    found: dict[str, tuple[HeldSkill, ...]] = {}
    for shard in manifest.shards:
        sha256 = shard.ref.sha256
        found[sha256] = before.get(sha256) or _held(mirrored_shard(mirror, shard.ref), shard.ref, known)
    return found


def open_generation(
    mirror: Mirror,
    listed: ListedSnapshot,
    manifest: SnapshotManifest,
    shards: HeldShards,
    *,
    admission: Admission,
    embedding: str,
) -> Generation:
    """Return a snapshot of which all but the packs is in the mirror.

    Its vectors are used if they are of `embedding`. Raises NotMirrored and PublicationDamaged.
    """
    skills = {held.skill.directory: held for shard in shards.values() for held in shard}
    snapshot = _snapshot(manifest, skills, admission)
    index = _open_index(mirror, listed, manifest, with_vectors=manifest.index.embedding == embedding)
    return Generation(listed, manifest, View(snapshot, index), skills, shards)


def _parsed(mirror: Mirror, part: MirroredPart, read: Callable[[bytes], Read]) -> Read:
    content = mirror.read(part)
    if content is None:
        raise NotMirrored(part)
    try:
        return read(content)
    except BadManifest as error:
        # Its digest is right: so it was published.
        raise PublicationDamaged("the publication", part.path, str(error)) from error


def _held(stored: Sequence[StoredSkill], shard: ObjectRef, known: Mapping[str, HeldSkill]) -> tuple[HeldSkill, ...]:
    held = []
    for one in stored:
        version, before = _version(one.files), known.get(one.key)
        same = before is not None and before.version == version and before.skill == one.skill
        skill = before.skill if same and before is not None else one.skill
        held.append(HeldSkill(skill, one.shape, version, sum(file.size for file in one.files), shard))
    return tuple(held)


def _version(files: Sequence[StoredFile]) -> str:
    told = [[file.path, file.size, file.sha256, file.executable] for file in files]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:_VERSION_DIGITS]


def _snapshot(manifest: SnapshotManifest, skills: Mapping[str, HeldSkill], admission: Admission) -> Snapshot:
    roots = tuple(
        SkillRoot(root.label, root.label, _source(root.source), number)
        for number, root in enumerate(manifest.roots, start=1)
    )
    memory = {
        key: CachedSkillFile(held.skill.root, held.skill.stamp, held.skill, held.skill.diagnostics, held.shape)
        for key, held in skills.items()
    }
    return scan_from_cache(roots, memory=memory, admission=admission)


def _source(written: str) -> Source:
    # A kind of place that this version does not know has the hub's rank.
    return Source(written) if written in SOURCES else Source.HUB


def _open_index(
    mirror: Mirror, listed: ListedSnapshot, manifest: SnapshotManifest, *, with_vectors: bool
) -> SkillIndex:
    *segments, statistics = index_parts(manifest)
    for part in (*segments, statistics):
        if not mirror.has(part):
            raise NotMirrored(part)
    table_id = manifest.index.table_id
    try:
        opened = [open_segment(mirror.path(part.path), table_id) for part in segments]
        if len(opened) > 1:
            check_pair(*opened)
        words = load_statistics(mirror.path(statistics.path), table_id)
    except (OSError, ValueError) as error:
        for part in (*segments, statistics):
            if not mirror.is_whole(part):
                raise NotMirrored(part) from error
        raise PublicationDamaged("the publication", segments[0].path, f"cannot be searched: {error}") from error
    return SkillIndex(
        opened,
        words,
        version=listed.number,
        table_id=table_id,
        open_table=_no_table,
        with_vectors=with_vectors,
    )


def _no_table() -> LanceIndex:
    raise IndexDamaged("a replica has no table")
