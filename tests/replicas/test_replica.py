"""A replica: which snapshot it serves, from where, and what becomes of it when the storage fails."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.fakes.object_storage import ObjectStorage
from tests.hubs import hub_of
from tests.replicas.publications import Publishing
from tests.storage.conftest import Target

from skillhub_mcp.errors import SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.replicas.health import StorageState
from skillhub_mcp.storage.directory_store import DirectoryStore


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
        assert [(hit.handle, hit.score) for hit in found.hits] == [(hit.handle, hit.score) for hit in answer.hits]
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
        assert changes == [1]
        health = hub.publication()
        assert health is not None
        assert (health.snapshot, health.storage, health.problem) == (second.id, StorageState.OK, "")


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
