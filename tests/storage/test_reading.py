from __future__ import annotations

from pathlib import Path

import pytest
from tests.fakes.object_storage import ObjectStorage
from tests.storage.conftest import Target
from tests.storage.values import ref, stored_skill

from skillhub_mcp.errors import PublicationDamaged, PublicationMissing, StorageUnavailable
from skillhub_mcp.storage.manifest import (
    POINTER,
    StoredShard,
    pack_path,
    segment_path,
    shard_json,
    shard_path,
)
from skillhub_mcp.storage.reading import PublicationReader

pytestmark = pytest.mark.slow


def _reader(target: Target) -> PublicationReader:
    return PublicationReader(target.open(), pause=lambda _: None)


def test_nothing_published_is_told_with_the_target(target: Target) -> None:
    with pytest.raises(PublicationMissing, match=target.url):
        _reader(target).pointer()
    assert _reader(target).pointer_if_any() is None


def test_a_file_is_read_from_its_pack(target: Target) -> None:
    skill = stored_skill(content=b"# PDF\n")
    target.open().put(pack_path(skill.files[0].pack), b"# PDF\nand more")
    assert _reader(target).read_file(skill.files[0]) == b"# PDF\n"


@pytest.mark.parametrize("content", [b"# PDX\n", b"# P", None])
def test_a_file_that_is_not_as_written_is_damage_and_never_an_answer(target: Target, content: bytes | None) -> None:
    skill = stored_skill(content=b"# PDF\n")
    if content is not None:
        target.open().put(pack_path(skill.files[0].pack), content)
    with pytest.raises(PublicationDamaged, match="packs/"):
        _reader(target).read_file(skill.files[0])


def test_a_shard_whose_digest_differs_is_damage(target: Target) -> None:
    content = shard_json([stored_skill()])
    path = shard_path(ref(content).sha256)
    target.open().put(path, content.replace(b"forms", b"farms"))
    with pytest.raises(PublicationDamaged, match="is not what was written"):
        _reader(target).shard(StoredShard(ref(content), 1))
    target.open().put(path, content)
    assert _reader(target).shard(StoredShard(ref(content), 1)) == (stored_skill(),)


def test_a_pointer_that_is_damaged_is_named(target: Target) -> None:
    target.open().put(POINTER, b"{")
    with pytest.raises(PublicationDamaged, match=POINTER):
        _reader(target).pointer()


@pytest.mark.parametrize("page", [b"<!DOCTYPE html>\n<title>Log in</title>", b"\xef\xbb\xbf\r\n<html></html>"])
def test_a_page_in_the_place_of_the_pointer_is_told_as_another_answer_and_nothing_is_to_be_removed(
    target: Target, page: bytes
) -> None:
    target.open().put(POINTER, page)
    with pytest.raises(PublicationDamaged, match="is a web page and no publication: likely a proxy") as told:
        _reader(target).pointer()
    assert "remove nothing" in str(told.value.hint)


@pytest.mark.parametrize("kind", ["half", "wrong", "503"])
def test_half_or_wrong_bytes_are_asked_for_again(s3: ObjectStorage, bucket: Target, tmp_path: Path, kind: str) -> None:
    content = b"0123456789" * 1_000
    bucket.open().put(segment_path(ref(content).sha256), content)
    s3.faults.add("GET", "segments/", kind)
    assert _reader(bucket).segment(ref(content), most=len(content)) == content
    s3.faults.add("GET", "segments/", kind)
    _reader(bucket).fetch(segment_path(ref(content).sha256), ref(content), str(tmp_path / "segment"))
    assert (tmp_path / "segment").read_bytes() == content


def test_what_was_waited_for_long_is_not_asked_for_again(
    s3: ObjectStorage, bucket: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.faults.add("GET", POINTER, "wrong", times=100)
    bucket.open().put(POINTER, b"{}")

    def asked() -> int:
        before = len(s3.faults.paths)
        with pytest.raises(PublicationDamaged):
            _reader(bucket).pointer()
        return len(s3.faults.paths) - before

    assert asked() == 3
    monkeypatch.setattr("skillhub_mcp.storage.reading._LONG_SECONDS", 0.0)
    assert asked() == 1


@pytest.mark.parametrize("kind", ["half", "wrong"])
def test_bytes_that_stay_wrong_leave_nothing_behind(
    s3: ObjectStorage, bucket: Target, tmp_path: Path, kind: str
) -> None:
    content = b"0123456789" * 1_000
    bucket.open().put(segment_path(ref(content).sha256), content)
    s3.faults.add("GET", "segments/", kind, times=100)
    with pytest.raises((PublicationDamaged, StorageUnavailable)):
        _reader(bucket).fetch(segment_path(ref(content).sha256), ref(content), str(tmp_path / "segment"))
    assert list(tmp_path.iterdir()) == []
