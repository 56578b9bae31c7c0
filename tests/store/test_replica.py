"""A replica: which snapshot it serves, from where, and what becomes of it when the storage fails."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from skillhub_mcp.index.mapped_arrays import StoredArrays
from skillhub_mcp.replicas import health as health_module
from skillhub_mcp.replicas.health import StorageState
from skillhub_mcp.storage.directory_store import DirectoryStore
from tests.conftest import SkillWriter
from tests.fakes.object_storage import ObjectStorage
from tests.hubs import hub_of
from tests.replicas.publications import Publishing
from tests.storage.conftest import Target

from skillhub_mcp.errors import IndexUnavailable, InvalidSetting, SkillDisabled, SkillFilesUnavailable, SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index import skill_index
from skillhub_mcp.index.views import SyncDepth
from skillhub_mcp.server.http.readiness import readiness
from skillhub_mcp.skills.admission import REGISTRY_LENIENT
from skillhub_mcp.skills.namesakes import Names
from skillhub_mcp.skills.roots import Source

pytestmark = pytest.mark.slow


@pytest.fixture
def publication(tmp_path: Path) -> Path:
    return tmp_path / "publication"


@pytest.fixture
def publishing(publication: Path, skills_dir: Path) -> Publishing:
    return Publishing(DirectoryStore(str(publication)), [skills_dir])


@pytest.fixture
def environment(tmp_path: Path, publication: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return {
        "SKILLHUB_READ_ONLY": "1",
        "DB_PATH": str(publication),
        "SKILLHUB_MIRROR_DIR": str(tmp_path / "mirrors"),
        "SKILLHUB_REFRESH_SECONDS": "0.2",
        "EMBEDDING_PROVIDER": "none",
    }


@contextmanager
def replica(environment: dict[str, str], **more: str) -> Iterator[SkillHub]:
    """A hub without threads, as a shell has one."""
    with hub_of({**environment, **more}) as hub:
        yield hub


@contextmanager
def serving(environment: dict[str, str], **more: str) -> Iterator[SkillHub]:
    """A hub that looks for snapshots behind its answers, as a server has one."""
    with hub_of({**environment, **more}, background=True) as hub:
        hub.start()
        yield hub


def until(reached: Callable[[], object]) -> None:
    """Wait until something is so; the bound is how long a test can hang."""
    end = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def storage_of(hub: SkillHub) -> StorageState:
    health = hub.publication()
    assert health is not None
    return health.storage


def in_bucket(bucket: Target, environment: dict[str, str]) -> dict[str, str]:
    options = ",".join(f"{key}={value}" for key, value in bucket.options.items())
    return {**environment, "DB_PATH": bucket.url, "SKILLHUB_STORAGE_OPTIONS": options}


def test_a_storage_that_does_not_answer_is_told_while_it_is_waited_for(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("skillhub_mcp.storage.bucket_store._SLOW_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = f"access_key_id=abcdef,secret_access_key=abcdefgh,endpoint={endpoint},allow_http=true,timeout=300ms"
        own = {**environment, "DB_PATH": "s3://bucket/prefix", "SKILLHUB_STORAGE_OPTIONS": options}
        with replica(own) as hub, pytest.raises(IndexUnavailable):
            hub.search("walrus")
    assert caplog.messages.count("s3://bucket/prefix has not answered yet, and is waited for") == 1


def test_it_finds_loads_and_reads_what_was_published_without_any_directory_of_skills(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"notes/diet.md": "Herring.", "run.sh": "echo"})
    write_skill("heron", "Watches the heron.")
    os.chmod(skills_dir / "walrus" / "run.sh", 0o755)
    publishing.publish()
    local = {"SKILLS_DIR": str(skills_dir), "DB_PATH": str(skills_dir.parent / "db"), "EMBEDDING_PROVIDER": "none"}
    with hub_of(local) as own:
        digest, answer = own.snapshot().digest, own.search("feed the walrus")
    shutil.rmtree(skills_dir)
    with replica(environment) as hub:
        found = hub.search("feed the walrus")
        assert [hit.handle for hit in found.hits] == [hit.handle for hit in answer.hits]
        # A publication has impacts as shares in 65,535 steps.
        assert found.hits[0].score == pytest.approx(answer.hits[0].score, abs=1e-4)
        assert hub.load("walrus").instructions == "Fish."
        assert hub.read_file("walrus", "notes/diet.md").content == "Herring."
        assert [file.path for file in hub.list_files("walrus")[0]] == ["SKILL.md", "notes/diet.md", "run.sh"]
        assert hub.find("walrus").directory == "hub/walrus"
        assert hub.snapshot().digest == digest
        directory = Path(hub.files_of(hub.find("walrus")))
    assert directory.name == "walrus"
    assert os.access(directory / "run.sh", os.X_OK)
    assert not os.access(directory / "SKILL.md", os.X_OK)


def test_another_snapshot_is_served_without_a_restart_and_what_was_found_before_can_still_be_read(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter, skills_dir: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Herring."})
    write_skill("heron", "Watches the heron.", body="Look.")
    publishing.publish()
    with serving(environment) as hub:
        walrus, heron = hub.find("walrus"), hub.find("heron")
        changes: list[int] = []
        hub.on_change(lambda: changes.append(1))
        write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Squid."})
        shutil.rmtree(skills_dir / "heron")
        write_skill("otter", "Floats with the otter.", body="Float.")
        second = publishing.publish()
        until(lambda: hub.snapshot().by_directory("hub/otter"))
        assert [hit.handle for hit in hub.search("otter").hits] == ["otter"]
        assert hub.load("otter").instructions == "Float."
        assert hub.read_file("walrus", "diet.md").content == "Squid."
        # Of those who have had it from the former snapshot, and read on.
        assert Path(hub.files_of(walrus), "diet.md").read_text() == "Herring."
        assert Path(hub.files_of(heron), "SKILL.md").read_text().endswith("Look.")
        with pytest.raises(SkillNotFound):
            hub.load("heron")
        until(lambda: changes == [1])
        health = hub.publication()
        assert health is not None
        assert (health.snapshot, health.storage, health.problem) == (second.id, StorageState.OK, "")


def test_a_replica_that_nobody_asks_gives_back_what_it_read_of_the_index_each_time(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    publishing.publish()
    monkeypatch.setattr(skill_index, "_IDLE_SECONDS", 0.0)
    released = threading.Event()
    monkeypatch.setattr(StoredArrays, "release", lambda _: released.set())
    with serving(environment) as hub:
        for query in ("feed", "feeds"):
            assert hub.search(query).hits
            released.clear()
            assert released.wait(20)


def test_a_name_that_is_not_known_is_looked_for_in_the_storage_at_once(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    publishing.publish()
    with serving(environment, SKILLHUB_REFRESH_SECONDS="3600") as hub:
        hub.snapshot()
        until(lambda: storage_of(hub) is StorageState.OK)
        write_skill("otter", "Floats with the otter.", body="Float.")
        publishing.publish()
        # Nobody asks the storage for every wrong name: no two looks within a second.
        until(lambda: _loads(hub, "otter"))


def _loads(hub: SkillHub, name: str) -> bool:
    try:
        return bool(hub.load(name))
    except SkillNotFound:
        return False


def test_whoever_asks_during_publications_gets_the_old_or_the_new_and_never_a_mixture(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    def publish(number: int) -> None:
        for name in ("walrus", "otter", "heron"):
            write_skill(name, f"Feeds the animal in generation{number}.", body=f"{name} {number}")
        publishing.publish()

    publish(0)
    mixed: list[list[str]] = []
    with serving(environment) as hub:
        hub.snapshot()
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                told = {hit.skill.description for hit in hub.search("feeds the animal", limit=3).hits}
                if len(told) != 1:
                    mixed.append(sorted(told))

        asking = [threading.Thread(target=ask) for _ in range(2)]
        for thread in asking:
            thread.start()
        for number in range(1, 6):
            publish(number)
            until(partial(serves_only, hub, f"Feeds the animal in generation{number}."))
        done.set()
        for thread in asking:
            thread.join()
        assert hub.load("walrus").instructions == "walrus 5"
    assert mixed == []


def serves_only(hub: SkillHub, description: str) -> bool:
    return {one.description for one in hub.skills()} == {description}


FAULTS = ["500", "503", "403", "half", "wrong"]


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("part", ["publication.json", "snapshots/", "shards/", "segments/", "packs/"])
def test_storage_that_fails_or_lies_is_served_around_and_told_once(
    environment: dict[str, str],
    bucket: Target,
    s3: ObjectStorage,
    skills_dir: Path,
    write_skill: SkillWriter,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    part: str,
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    publishing = Publishing(bucket.open(), [skills_dir], shards=1)
    first = publishing.publish()
    with replica(in_bucket(bucket, environment)) as hub:
        assert hub.load("walrus").instructions == "Fish."
        write_skill("otter", "Floats with the otter.", body="Float.")
        second = publishing.publish()
        s3.faults.add("GET", part, kind, times=1_000)
        with caplog.at_level(logging.INFO, "skillhub_mcp.replicas"):
            for _ in range(2):
                hub.refresh()
                health = hub.publication()
                assert health is not None
                assert (health.snapshot, health.storage) == (first.id, StorageState.FAILING)
                assert health.problem
                assert bucket.url not in health.problem
            told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
            assert len(told) == 1, told
            assert f"snapshot {first.id} is served from the mirror" in told[0]
            assert [hit.handle for hit in hub.search("feed the walrus").hits] == ["walrus"]
            assert hub.load("walrus").instructions == "Fish."
            s3.faults.due.clear()
            hub.refresh()
        assert sum("answers again" in record.message for record in caplog.records) == 1
        assert hub.load("otter").instructions == "Float."
        health = hub.publication()
        assert health is not None
        assert (health.snapshot, health.storage, health.problem) == (second.id, StorageState.OK, "")


def test_a_replica_that_starts_while_the_storage_is_away_serves_what_is_in_its_mirror(
    environment: dict[str, str], publication: Path, publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    listed = publishing.publish()
    with serving(environment) as hub:
        until(lambda: list(Path(environment["SKILLHUB_MIRROR_DIR"]).glob("*/packs/*")))
    publication.rename(publication.with_name("away"))
    with serving(environment) as hub:
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."
        until(lambda: storage_of(hub) is StorageState.FAILING)
        health = hub.publication()
        assert health is not None
        assert (health.snapshot, health.problem) == (listed.id, "nothing is published there")
        publication.with_name("away").rename(publication)
        until(lambda: storage_of(hub) is StorageState.OK)


def test_where_neither_storage_nor_mirror_has_anything_it_says_so_and_serves_when_something_is_published(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with serving(environment) as hub:
        with pytest.raises(IndexUnavailable, match="nothing is published there"):
            hub.search("walrus")
        publishing.publish()
        until(hub.peek)
        assert hub.load("walrus")


def test_a_command_asks_the_storage_only_where_nobody_has_for_a_while(
    environment: dict[str, str], bucket: Target, s3: ObjectStorage, skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    Publishing(bucket.open(), [skills_dir]).publish()
    patient = {**in_bucket(bucket, environment), "SKILLHUB_REFRESH_SECONDS": "3600"}
    with replica(patient) as hub:
        assert hub.skills()
    s3.faults.requests.clear()
    with replica(patient) as hub:
        assert hub.skills()
    assert s3.faults.requests == {}
    with replica(patient, SKILLHUB_REFRESH_SECONDS="0.2") as hub:
        time.sleep(0.2)
        assert hub.skills()
    assert s3.faults.requests == {"GET": 1}


def test_what_did_not_change_is_not_fetched_again(
    environment: dict[str, str], bucket: Target, s3: ObjectStorage, skills_dir: Path, write_skill: SkillWriter
) -> None:
    for number in range(20):
        write_skill(f"walrus-{number}", f"Feeds walrus {number}.")
    publishing = Publishing(bucket.open(), [skills_dir], shards=8)
    publishing.publish()
    with replica(in_bucket(bucket, environment)) as hub:
        before = {skill.name: skill for skill in hub.skills()}
        write_skill("walrus-3", "Feeds walrus three.")
        publishing.publish()
        s3.faults.paths.clear()
        hub.refresh()
        fetched = [path.split("/skills/")[1].split("/")[0] for path in s3.faults.paths]
        # The shard and the pack of the one skill, and its segment and statistics, which the test writes anew.
        assert sorted(fetched) == ["packs", "publication.json", "segments", "segments", "shards", "snapshots"]
        assert [name for name, skill in before.items() if hub.find(name) is not skill] == ["walrus-3"]
        s3.faults.paths.clear()
        hub.refresh()
        assert len(s3.faults.paths) == 1


def test_a_pinned_replica_stays_with_its_snapshot(
    environment: dict[str, str], publication: Path, publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    first = publishing.publish()
    write_skill("walrus", "Feeds the walrus.", body="Squid.")
    publishing.publish()
    with replica(environment, SKILLHUB_SNAPSHOT=first.id) as hub:
        assert hub.load("walrus").instructions == "Fish."
        write_skill("otter", "Floats.")
        publishing.publish()
        hub.refresh()
        assert [skill.name for skill in hub.skills()] == ["walrus"]
    # Beside one that follows, in the same mirror, and without the storage.
    with replica(environment) as hub:
        assert hub.load("walrus").instructions == "Squid."
    publication.rename(publication.with_name("away"))
    with replica(environment, SKILLHUB_SNAPSHOT=first.id) as hub:
        assert hub.load("walrus").instructions == "Fish."


def test_a_pinned_snapshot_that_is_not_kept_is_told(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    publishing.publish()
    with (
        replica(environment, SKILLHUB_SNAPSHOT="00000009-000000000000") as hub,
        pytest.raises(IndexUnavailable, match="there is no snapshot 00000009-000000000000"),
    ):
        hub.skills()


def test_after_a_rollback_the_earlier_snapshot_is_served(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    first = publishing.publish()
    write_skill("walrus", "Feeds the walrus.", body="Poison.")
    publishing.publish()
    with replica(environment) as hub:
        assert hub.load("walrus").instructions == "Poison."
        publishing.commit(first)
        hub.refresh()
        assert hub.load("walrus").instructions == "Fish."


def test_an_index_in_the_mirror_that_is_damaged_is_fetched_again(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    publishing.publish()
    with replica(environment) as hub:
        assert hub.search("walrus").hits
    mirrors = Path(environment["SKILLHUB_MIRROR_DIR"])
    for path in [*mirrors.glob("*/segments/*"), *mirrors.glob("*/shards/*")]:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))
    with replica(environment) as hub:
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.damages() == ()
        # What nobody notices by opening it is noticed by reading all of it.
        for path in mirrors.glob("*/segments/*"):
            path.write_bytes(path.read_bytes()[:-1] + b"?")
        hub.refresh(SyncDepth.VERIFY)
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.damages() == ()


@pytest.mark.parametrize("deleted", ["", "*", "*/publication.json", "*/segments"])
def test_what_somebody_deleted_of_the_mirror_is_there_again_and_nothing_fails_meanwhile(
    environment: dict[str, str],
    publication: Path,
    publishing: Publishing,
    write_skill: SkillWriter,
    caplog: pytest.LogCaptureFixture,
    deleted: str,
) -> None:
    def there() -> set[str]:
        found = {path.relative_to(mirrors).as_posix() for path in mirrors.glob("*/*/*") if path.is_file()}
        return {path for path in found if "/incoming/" not in path} | {one.name for one in mirrors.glob("*/*.json")}

    mirrors = Path(environment["SKILLHUB_MIRROR_DIR"])
    for name in ("walrus", "otter"):
        write_skill(name, f"Feeds the {name}.", body="Fish.")
    publishing.publish()
    with serving(environment) as hub, caplog.at_level(logging.INFO, "skillhub_mcp.replicas"):
        assert hub.load("walrus").instructions == "Fish."
        until(lambda: len(list(mirrors.glob("*/packs/*"))) == 2)
        whole = there()
        for place in list(mirrors.glob(deleted)) if deleted else [mirrors]:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        until(lambda: there() == whole)
        for name in ("walrus", "otter"):
            assert hub.search(f"feed the {name}").hits[0].handle == name
            assert hub.load(name).instructions == "Fish."
        assert storage_of(hub) is StorageState.OK
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
    publication.rename(publication.with_name("away"))
    with serving(environment) as hub:
        assert hub.load("otter").instructions == "Fish."


def test_a_copy_of_a_skill_that_somebody_changed_is_made_again(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Herring."})
    publishing.publish()
    with replica(environment) as hub:
        hub.load("walrus")
        copy = Path(hub.files_of(hub.find("walrus")))
    (copy / "diet.md").write_text("Poison.")
    (copy / "more.md").write_text("More poison.")
    with replica(environment) as hub:
        assert hub.read_file("walrus", "diet.md").content == "Herring."
        assert [file.path for file in hub.list_files("walrus")[0]] == ["SKILL.md", "diet.md"]
        # Also one that goes while it is in use.
        shutil.rmtree(copy)
        assert hub.read_file("walrus", "diet.md").content == "Herring."


def test_files_that_are_nowhere_are_told_as_such_and_the_rest_is_served(
    environment: dict[str, str], bucket: Target, s3: ObjectStorage, skills_dir: Path, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    write_skill("otter", "Floats.", body="Float.")
    Publishing(bucket.open(), [skills_dir]).publish()
    with replica(in_bucket(bucket, environment)) as hub:
        assert hub.load("walrus").instructions == "Fish."
        s3.faults.add("GET", "packs/", "wrong", times=1_000)
        with pytest.raises(SkillFilesUnavailable) as caught:
            hub.load("otter")
        assert bucket.url not in f"{caught.value.message} {caught.value.hint}"
        assert hub.load("walrus").instructions == "Fish."
        assert {hit.handle for hit in hub.search("walrus otter floats").hits} == {"walrus", "otter"}


@pytest.mark.parametrize("mirrored", [True, False])
def test_of_a_publication_that_is_away_no_part_is_told_to_be_damaged(
    environment: dict[str, str], publication: Path, publishing: Publishing, write_skill: SkillWriter, mirrored: bool
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    publishing.publish()
    with replica(environment) as hub:
        assert hub.skills()
        publication.rename(publication.with_name("away"))
        if not mirrored:
            shutil.rmtree(environment["SKILLHUB_MIRROR_DIR"])
        with pytest.raises(SkillFilesUnavailable, match=r"cannot be fetched: nothing is published there$"):
            hub.load("walrus")


def test_a_pack_that_is_not_in_the_storage_is_told_to_be_missing(
    environment: dict[str, str], publication: Path, publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    publishing.publish()
    with replica(environment) as hub:
        assert hub.skills()
        shutil.rmtree(publication / "packs")
        with pytest.raises(SkillFilesUnavailable, match=r"cannot be fetched: packs/[0-9a-f]+ is missing$"):
            hub.load("walrus")


def test_names_and_sources_are_those_of_the_publication_and_no_path_is_of_this_machine(
    environment: dict[str, str], publication: Path, tmp_path: Path, write_skill: SkillWriter
) -> None:
    user, hub_dir = tmp_path / "user", tmp_path / "hub"
    write_skill("walrus", "Feeds the walrus.", body="Mine.", root=user)
    write_skill("walrus", "Feeds the walrus of all.", body="Ours.", root=hub_dir)
    # Neither its name nor its source says which of these is meant.
    write_skill("walrus", "Feeds the walrus twice.", body="Also ours.", root=hub_dir, directory="deep/walrus")
    sources = [Source.USER, Source.HUB]
    Publishing(DirectoryStore(str(publication)), [user, hub_dir], sources=sources).publish()
    with replica(environment) as hub:
        assert hub.load("walrus").instructions == "Mine."
        assert {hub.load(name).instructions for name in ("hub/walrus", "hub/deep/walrus")} == {"Ours.", "Also ours."}
        assert hub.load("walrus@hub").source.value == "hub"
        handles = {Names(hub.snapshot()).handle(skill) for skill in hub.snapshot().everything}
        assert handles - {"hub/deep/walrus", "hub/walrus"} == {"walrus", "walrus@hub"}
        assert len(handles) == 3
        told = "\n".join(hub.handle_of(skill.directory) or skill.directory for skill in hub.snapshot().everything)
        assert str(tmp_path) not in told


def test_what_a_replica_is_asked_to_write_is_refused(
    environment: dict[str, str], publication: Path, publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    publishing.publish()
    with replica(environment) as hub, pytest.raises(IndexUnavailable, match="writes no index"):
        hub.refresh(SyncDepth.REBUILD)
    # Nor does a hub of directories write its index into a publication.
    before = sorted(publication.rglob("*"))
    with pytest.raises(InvalidSetting, match="in which no index is written"), hub_of({"DB_PATH": str(publication)}):
        pass
    assert sorted(publication.rglob("*")) == before


def test_filters_and_strictness_are_the_replicas_own(
    environment: dict[str, str], publishing: Publishing, write_skill: SkillWriter
) -> None:
    write_skill("walrus", "Feeds the walrus.", category="animals")
    write_skill("invoice", "Writes an invoice.", category="money")
    write_skill("Odd Name", "Breaks a rule.", directory="odd")
    publishing.publish()
    with replica(environment, SKILLHUB_ENABLED_CATEGORIES="animals") as hub:
        assert [skill.name for skill in hub.skills()] == ["walrus"]
        assert [hit.handle for hit in hub.search("invoice walrus").hits] == ["walrus"]
        with pytest.raises(SkillDisabled):
            hub.load("invoice")
    with replica(environment, SKILLHUB_STRICT="1") as hub:
        assert [skill.name for skill in hub.skills()] == ["invoice", "walrus"]
        assert {entry.name for entry in hub.registry_index(REGISTRY_LENIENT).skills} >= {"Odd Name"}


def test_nobody_waits_for_a_storage_that_stands_still_and_probes_say_so(
    environment: dict[str, str],
    bucket: Target,
    s3: ObjectStorage,
    skills_dir: Path,
    write_skill: SkillWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health_module, "STALLED_AFTER_SECONDS", 0.1)
    with serving(in_bucket(bucket, environment)) as hub:
        assert probe(hub, anonymous=True)[0] == 503
        write_skill("walrus", "Feeds the walrus.", body="Fish.")
        listed = Publishing(bucket.open(), [skills_dir]).publish()
        until(lambda: storage_of(hub) is StorageState.OK)
        status, told = probe(hub)
        assert (status, told["index"], told["storage"], told["snapshot"]) == (200, "ready", "ok", listed.id)
        assert "storage_problem" not in told
        s3.faults.add("GET", "publication.json", "slow", times=1_000)
        until(lambda: storage_of(hub) is StorageState.STALLED)
        began = s3.faults.requests["GET"]
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."
        with pytest.raises(SkillNotFound):
            hub.load("otter")
        # All of that while one request stood still.
        assert s3.faults.requests["GET"] <= began + 1
        status, told = probe(hub)
        assert (status, told["index"]) == (200, "ready")
        assert probe(hub, anonymous=True)[1].keys() == {"index", "storage"}
        s3.faults.due.clear()


def probe(hub: SkillHub, *, anonymous: bool = False) -> tuple[int, dict[str, object]]:
    answer = readiness(hub, anonymous=anonymous)
    told: dict[str, object] = json.loads(bytes(answer.body))
    return answer.status_code, told
