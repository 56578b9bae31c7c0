"""Values of a publication, for tests."""

from __future__ import annotations

import hashlib

from skillhub_mcp.skills.model import FileStamp, HeaderShape, Skill
from skillhub_mcp.skills.rules import Diagnostic, Severity
from skillhub_mcp.storage.manifest import (
    CommitPointer,
    ListedSnapshot,
    ObjectRef,
    SnapshotManifest,
    StoredFile,
    StoredIndex,
    StoredRoot,
    StoredRows,
    StoredShard,
    StoredSkill,
    snapshot_id,
)


def ref(content: bytes) -> ObjectRef:
    return ObjectRef(hashlib.sha256(content).hexdigest(), len(content))


def stored_skill(key: str = "hub/docs/pdf", content: bytes = b"# PDF\n") -> StoredSkill:
    """A skill with every field, and one file."""
    skill = Skill(
        name="pdf",
        description="Fills forms — «ünïcödé»",
        directory=key,
        root=key.split("/", 1)[0],
        category="documents",
        tags=("forms", "pdf"),
        always_apply=True,
        allowed_tools=("Read", "Bash(git:*)"),
        license="MIT",
        compatibility="Python 3",
        metadata={"team": "docs", "depth": {"a": [1, 2]}},
        diagnostics=(Diagnostic("name-form", Severity.WARNING, "found", "mend", 3),),
        stamp=FileStamp(1_700_000_000_000_000_001, len(content), hashlib.sha256(content).hexdigest(), 0),
        version="1.2",
        author="a team",
        allowed_tools_text="Read Bash(git:*)",
        disable_model_invocation=True,
        user_invocable=False,
        argument_hint="FILE",
    )
    digest = hashlib.sha256(content).hexdigest()
    files = (StoredFile("SKILL.md", len(content), digest, True, digest, 0),)
    return StoredSkill(skill, files, embedded=True, shape=HeaderShape(9, 80, 3, "description"))


def listed_snapshot(number: int = 1, content: bytes = b"{}", *, pinned: bool = False) -> ListedSnapshot:
    return ListedSnapshot(
        snapshot_id(number, ref(content)), ref(content), "2026-11-22T18:00:00Z", 1, 6, "ci", "0.1.0", pinned
    )


def manifest(shards: tuple[StoredShard, ...] = ()) -> SnapshotManifest:
    return SnapshotManifest(
        created_at="2026-11-22T18:00:00Z",
        digest="sha256:0",
        skills=1,
        bytes=6,
        roots=(StoredRoot("hub", "hub"),),
        shards=shards,
        packs=(ref(b"p"),),
        index=StoredIndex(3, "ab", "none", "none", 1, (ref(b"s"),), ref(b"t"), ref(b"k"), StoredRows(4, "00000001")),
    )


def pointer(*snapshots: ListedSnapshot, fence: int = 1) -> CommitPointer:
    return CommitPointer(fence, snapshots[0].id if snapshots else "", snapshots)
