from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.storage.values import listed_snapshot, manifest, pointer, ref, stored_skill

from skillhub_mcp.storage.manifest import (
    BadManifest,
    NewerFormat,
    StoredShard,
    manifest_json,
    pointer_json,
    read_manifest,
    read_pointer,
    read_shard,
    shard_json,
)


def test_what_is_written_is_read_the_same() -> None:
    some = pointer(listed_snapshot(2, pinned=True), listed_snapshot(1))
    assert read_pointer(pointer_json(some)) == some
    whole = manifest((StoredShard(ref(b"x"), 1),))
    assert read_manifest(manifest_json(whole)) == whole
    assert read_shard(shard_json([stored_skill()])) == (stored_skill(),)


def test_a_shard_is_the_same_for_the_same_skills_in_any_order() -> None:
    one, two = stored_skill("hub/a"), stored_skill("hub/b")
    assert shard_json([one, two]) == shard_json([two, one])


def test_a_name_that_is_not_utf_8_survives() -> None:
    odd = stored_skill("hub/caf\udce9")
    assert read_shard(shard_json([odd])) == (odd,)


def test_what_a_newer_version_added_to_the_pointer_is_kept_by_who_rewrites_it() -> None:
    written = json.loads(pointer_json(pointer(listed_snapshot())))
    written["signed_by"] = "somebody"
    written["snapshots"][0]["note"] = {"a": 1}
    again = json.loads(pointer_json(replace(read_pointer(json.dumps(written).encode()), fence=9)))
    assert again == {**written, "fence": 9}


@pytest.mark.parametrize("part", ["pointer", "snapshot"])
def test_a_newer_format_is_told_from_damage(part: str) -> None:
    content = pointer_json(pointer()) if part == "pointer" else manifest_json(manifest())
    newer = json.dumps({**json.loads(content), "format": 2}).encode()
    with pytest.raises(NewerFormat, match="newer version"):
        _ = read_pointer(newer) if part == "pointer" else read_manifest(newer)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{}", b"null", b"[" * 100_000, b'{"format": "1"}', b'{"format":' + b"9" * 9_000]
)
def test_what_is_no_manifest_is_refused(content: bytes) -> None:
    for read in (read_pointer, read_manifest, read_shard):
        with pytest.raises(BadManifest):
            read(content)


@pytest.mark.parametrize("key", ["hub/../other", "other/pdf", "hub//pdf", "hub/pdf/", "/hub/pdf", "hub/a\0b", ""])
def test_a_key_that_would_lead_elsewhere_is_refused(key: str) -> None:
    with pytest.raises(BadManifest):
        read_shard(_changed("key", key))


@pytest.mark.parametrize("path", ["../SKILL.md", "/SKILL.md", "a//b", "a\\..\\b", "~/x", "a\nb", ""])
def test_a_file_that_would_lie_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(BadManifest):
        read_shard(_changed("files", [[path, 1, "0" * 64, 0, "0" * 64, 0]]))


@pytest.mark.parametrize("file", [["a", -1, "0" * 64, 0, "0" * 64, 0], ["a", 1, "0" * 64, 0, "../../x", 0]])
def test_a_file_that_lies_nowhere_is_refused(file: list[Any]) -> None:
    with pytest.raises(BadManifest):
        read_shard(_changed("files", [file]))


def test_a_pointer_to_a_snapshot_that_it_does_not_list_is_refused() -> None:
    with pytest.raises(BadManifest):
        read_pointer(pointer_json(replace(pointer(listed_snapshot()), current="00000009-000000000000")))


def _changed(field: str, value: object) -> bytes:
    written = json.loads(shard_json([stored_skill()]))
    written["skills"][0][field] = value
    return json.dumps(written).encode()
