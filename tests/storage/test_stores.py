"""What every store gives: the same suite over a directory and over S3."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.fakes.object_storage import ObjectStorage
from tests.storage.conftest import Target

from skillhub_mcp.errors import InvalidArgument, InvalidSetting, StorageRefused, StorageUnavailable
from skillhub_mcp.storage.bucket_store import BucketStore
from skillhub_mcp.storage.object_store import ObjectStore, Patience, PutConflict, without_options
from skillhub_mcp.storage.targets import is_bucket, open_store

pytestmark = pytest.mark.slow


def test_what_is_put_is_read_whole_and_in_ranges(target: Target) -> None:
    store = target.open()
    store.put("packs/one", b"0123456789")
    found = store.get("packs/one", most=10)
    assert found is not None
    assert found.content == b"0123456789"
    assert store.get_range("packs/one", 2, 3) == b"234"
    assert store.get_range("packs/one", 8, 5) == b"89"


def test_what_is_not_there_is_none(target: Target, tmp_path: Path) -> None:
    store = target.open()
    assert store.get("packs/none", most=10) is None
    assert store.get_range("packs/none", 0, 1) is None
    assert store.download("packs/none", str(tmp_path / "copy")) is False
    assert list(store.list("packs")) == []
    store.delete(["packs/none"])


def test_an_object_larger_than_asked_for_is_no_answer(target: Target) -> None:
    store = target.open()
    store.put("publication.json", b"x" * 11)
    with pytest.raises(StorageUnavailable, match="has more than 10 bytes"):
        store.get("publication.json", most=10)


def test_large_files_go_up_and_come_down_through_the_disk(target: Target, tmp_path: Path) -> None:
    store, content = target.open(), os.urandom(1024) * (17 * 1024)
    (tmp_path / "large").write_bytes(content)
    store.upload("segments/large", str(tmp_path / "large"))
    assert store.download("segments/large", str(tmp_path / "copy")) is True
    assert (tmp_path / "copy").read_bytes() == content
    assert [(entry.path, entry.size) for entry in store.list("segments")] == [("segments/large", len(content))]


def test_a_list_has_what_lies_below_alone_and_what_is_deleted_is_gone(target: Target) -> None:
    store = target.open()
    for path in ("packs/a", "packs/deep/b", "packs-more/c", "shards/d"):
        store.put(path, b"x")
    assert sorted(entry.path for entry in store.list("packs")) == ["packs/a", "packs/deep/b"]
    store.delete(["packs/a", "packs/none"])
    assert [entry.path for entry in store.list("packs")] == ["packs/deep/b"]
    assert all(entry.modified > 1_600_000_000 for entry in store.list("packs"))


def test_a_conditional_write_succeeds_for_who_knows_the_present_object(target: Target) -> None:
    store = target.open()
    first = store.replace("publication.json", b"1", None)
    second = store.replace("publication.json", b"2", first)
    found = store.get("publication.json", most=10)
    assert found is not None
    assert (found.content, found.etag) == (b"2", second)


def test_a_look_at_an_object_that_is_unchanged_brings_nothing(target: Target) -> None:
    store = target.open()
    etag = store.replace("publication.json", b"one", None)
    assert store.get_if_changed("publication.json", etag, most=10) is None
    later = store.replace("publication.json", b"two", etag)
    found = store.get_if_changed("publication.json", etag, most=10)
    assert found is not None
    assert (found.content, found.etag) == (b"two", later)
    assert store.get_if_changed("publication.json", later, most=10) is None
    store.delete(["publication.json"])
    gone = store.get_if_changed("publication.json", later, most=10)
    assert gone is not None
    assert (gone.content, gone.etag) == (b"", "")


@pytest.mark.parametrize("known", ["nothing", "an earlier one"])
def test_a_conditional_write_changes_nothing_for_who_does_not(target: Target, known: str) -> None:
    store = target.open()
    earlier = store.replace("publication.json", b"1", None)
    store.replace("publication.json", b"2", earlier)
    with pytest.raises(PutConflict):
        store.replace("publication.json", b"3", None if known == "nothing" else earlier)
    found = store.get("publication.json", most=10)
    assert found is not None
    assert found.content == b"2"


def test_a_conditional_write_of_an_object_that_is_gone_is_a_conflict(target: Target) -> None:
    store = target.open()
    etag = store.replace("lease.json", b"1", None)
    store.delete(["lease.json"])
    with pytest.raises(PutConflict):
        store.replace("lease.json", b"2", etag)


def test_of_many_conditional_writes_at_once_one_succeeds(target: Target) -> None:
    etag = target.open().replace("publication.json", b"0", None)
    won: list[int] = []

    def write(number: int) -> None:
        try:
            target.open().replace("publication.json", str(number).encode(), etag)
        except PutConflict:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = target.open().get("publication.json", most=10)
    assert found is not None
    assert [str(number).encode() for number in won] == [found.content]


# A directory


# Of a store that is none of the two above the emulators are slow, or are fakes: this is what publishing stands on.
FOUNDATIONS = pytest.mark.parametrize(
    "outcome",
    [
        test_what_is_put_is_read_whole_and_in_ranges,
        test_an_object_larger_than_asked_for_is_no_answer,
        test_a_list_has_what_lies_below_alone_and_what_is_deleted_is_gone,
        test_a_look_at_an_object_that_is_unchanged_brings_nothing,
        test_a_conditional_write_succeeds_for_who_knows_the_present_object,
        test_a_conditional_write_of_an_object_that_is_gone_is_a_conflict,
        test_of_many_conditional_writes_at_once_one_succeeds,
    ],
    ids=lambda outcome: outcome.__name__,
)


def test_a_target_that_is_a_file_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    store = open_store(str(tmp_path / "file"), {})
    assert store.get("publication.json", most=10) is None
    with pytest.raises(StorageUnavailable, match="file cannot be used"):
        store.put("packs/a", b"x")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_pipe_in_the_place_of_an_object_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "publication.json")
    with pytest.raises(StorageUnavailable, match="is not a file"):
        open_store(str(tmp_path), {}).get("publication.json", most=10)


# A bucket


@pytest.mark.parametrize("kind", ["500", "503"])
def test_a_storage_that_fails_twice_is_asked_again(s3: ObjectStorage, bucket: Target, kind: str) -> None:
    s3.faults.add("PUT", "packs/a", kind, times=2)
    bucket.open().put("packs/a", b"x")
    s3.faults.add("GET", "packs/a", kind, times=2)
    found = bucket.open().get("packs/a", most=1)
    assert found is not None
    assert found.content == b"x"


def test_a_storage_that_goes_on_failing_is_named_with_its_answer(s3: ObjectStorage, bucket: Target) -> None:
    s3.faults.add("PUT", "packs/a", "503", times=100)
    with pytest.raises(StorageUnavailable) as caught:
        bucket.open().put("packs/a", b"x")
    assert "the storage answered 503" in caught.value.message
    assert "after 4 retries" in caught.value.message


def test_a_storage_that_never_answers_is_told_once_while_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillhub_mcp.storage.bucket_store._SLOW_SECONDS", 0.1)
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {
            "aws_access_key_id": "an-access-key",
            "aws_secret_access_key": "a-very-secret-key",
            "region": "us-east-1",
            "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "allow_http": "true",
        }
        store = open_store("s3://bucket/prefix", options, Patience(0.5, retries=0, seconds=1.0), told.append)
        for _ in range(2):
            with pytest.raises(StorageUnavailable, match="did not answer in time"):
                store.get("publication.json", most=10)
    assert told == ["s3://bucket/prefix"]


def test_a_storage_that_has_answered_once_is_not_told_as_one_that_does_not(
    s3: ObjectStorage, bucket: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    store = open_store(bucket.url, s3.options, on_slow=told.append)
    assert store.get("publication.json", most=10) is None
    monkeypatch.setattr("skillhub_mcp.storage.bucket_store._SLOW_SECONDS", 0.0)
    store.put("packs/a", b"x")
    assert told == []


@pytest.mark.parametrize("method", ["get", "get_range", "download"])
def test_a_storage_that_goes_on_sending_half_is_told_in_words(
    s3: ObjectStorage, bucket: Target, tmp_path: Path, method: str
) -> None:
    store = bucket.open()
    store.put("packs/a", b"x" * 1_000)
    s3.faults.add("GET", "packs/a", "half", times=100)
    reading: Mapping[str, Callable[[], object]] = {
        "get": lambda: store.get("packs/a", most=1_000),
        "get_range": lambda: store.get_range("packs/a", 0, 1_000),
        "download": lambda: store.download("packs/a", str(tmp_path / "a")),
    }
    with pytest.raises(StorageUnavailable, match="the storage broke its answer off"):
        reading[method]()


def test_a_refusal_is_not_tried_again_and_says_what_to_look_at(s3: ObjectStorage, bucket: Target) -> None:
    s3.faults.add("PUT", "packs/a", "403", times=100)
    with pytest.raises(StorageRefused, match="403 Forbidden") as caught:
        bucket.open().put("packs/a", b"x")
    assert s3.faults.paths.count(next(path for path in s3.faults.paths if "packs/a" in path)) == 1
    assert "SKILLHUB_STORAGE_OPTIONS" in str(caught.value.hint)


@pytest.mark.parametrize(
    "use",
    [
        lambda store, _: store.put("packs/a", b"x"),
        lambda store, _: store.get("publication.json", most=10),
        lambda store, _: store.get_if_changed("publication.json", '"etag"', most=10),
        lambda store, _: store.get_range("packs/a", 0, 1),
        lambda store, place: store.download("packs/a", str(place / "a")),
        lambda store, _: list(store.list("packs")),
    ],
    ids=["put", "get", "get_if_changed", "get_range", "download", "list"],
)
def test_a_bucket_that_is_not_there_is_a_refusal(
    s3: ObjectStorage, tmp_path: Path, use: Callable[[ObjectStore, Path], object]
) -> None:
    with pytest.raises(StorageRefused, match="there is no such bucket"):
        use(open_store("s3://not-there/prefix", s3.options), tmp_path)


def test_no_error_shows_a_credential(s3: ObjectStorage) -> None:
    options = {**s3.options, "endpoint": "http://127.0.0.1:9/a-very-secret-key"}
    with pytest.raises(StorageUnavailable) as caught:
        open_store("s3://bucket/prefix", {**options, "connect_timeout": "1s"}).put("packs/a", b"x")
    assert "a-very-secret-key" not in f"{caught.value!r} {caught.value.message} {caught.value.hint}"
    with pytest.raises(InvalidSetting) as refused:
        BucketStore("s3://bucket/prefix", {**options, "nonsense": "another-secret"})
    assert "nonsense" in refused.value.message
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("url", "options", "variables", "setting", "said"),
    [
        ("s3://b", {}, {"AWS_SECRET_ACCESS_KEY": "very-secret"}, "AWS_ACCESS_KEY_ID", "or access_key_id in"),
        ("s3://b", {"region": "x", "secret_access_key": "very-secret"}, {}, "AWS_ACCESS_KEY_ID", "or access_key_id in"),
        ("S3://b", {"region": "x"}, {"AWS_ACCESS_KEY_ID": "me"}, "AWS_SECRET_ACCESS_KEY", "or secret_access_key in"),
        ("az://b", {}, {}, "AZURE_STORAGE_ACCOUNT_NAME", "or account_name in"),
        ("s3://b", {}, {"AWS_CONDITIONAL_PUT": "x"}, "AWS_*", "S3PutConditional"),
        ("s3://b", {"region": "x"}, {"AWS_CONDITIONAL_PUT": "x"}, "SKILLHUB_STORAGE_OPTIONS", "from AWS_*: look at"),
        ("gs://b", {}, {"GOOGLE_SERVICE_ACCOUNT": "/none"}, "GOOGLE_*", "Unable to open service account file"),
    ],
)
def test_what_is_missing_or_wrong_is_blamed_and_not_a_setting_that_is_right(
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    options: dict[str, str],
    variables: dict[str, str],
    setting: str,
    said: str,
) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSetting) as refused:
        BucketStore(url, options)
    assert refused.value.setting == setting
    assert said in f"{refused.value.message} {refused.value.hint}"
    assert "very-secret" not in f"{refused.value.message} {refused.value.hint}"


def test_the_connections_options_reach_the_connection(s3: ObjectStorage) -> None:
    """Given as LanceDB takes them, all in one list."""
    with pytest.raises(StorageUnavailable):
        open_store("s3://bucket/prefix", {**s3.options, "allow_http": "false"}).put("packs/a", b"x")


# Targets


@pytest.mark.parametrize(
    ("target", "mend"),
    [
        ("ftp://host/place", "name a directory, or a bucket"),
        ("db://team", "name a directory, or a bucket"),
        ("", "name a directory, or a bucket"),
        ("s3://", "s3://bucket or s3://bucket/prefix"),
        ("s3:///prefix", "s3://bucket or s3://bucket/prefix"),
        ("s3://key:secret@bucket/prefix", "credentials belong in SKILLHUB_STORAGE_OPTIONS"),
        ("s3://bucket/p?token=1", "credentials belong in SKILLHUB_STORAGE_OPTIONS"),
        # The storage's library writes to `other/`.
        ("s3://bucket/team/../other", "the prefix that is meant"),
        ("s3://bucket/team/%2E%2e/other", "the prefix that is meant"),
        ("gs://bucket/./team", "the prefix that is meant"),
    ],
)
def test_a_target_that_cannot_be_published_to_is_refused_with_its_mend(target: str, mend: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        open_store(target, {})
    assert mend in str(caught.value.hint)
    assert "secret" not in caught.value.message


def test_a_directory_needs_no_scheme_and_a_home_is_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store("~/published", {}).name == str(tmp_path / "published")
    assert [is_bucket(one) for one in ("published", "s3://b/p", "GS://b/p", "az://c/p")] == [False, True, True, True]


def test_of_the_options_a_message_shows_the_short_words_only() -> None:
    options = {"secret": "key-of-many", "longer": "key-of-many-more", "allow_http": "true", "port": "443"}
    assert without_options("key-of-many-more, key-of-many: true 443", options) == "***, ***: true 443"
