"""A replica: the served publication, its mirror, and failures of the storage."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import SkillWriter
from tests.fakes.object_storage import ObjectStorage
from tests.hubs import hub_of
from tests.store.publications import Library, objects_at, replica, until

from skillhub_mcp.errors import IndexUnavailable, InvalidSetting, SkillDisabled, SkillFilesUnavailable, SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.writer import SyncDepth
from skillhub_mcp.server.http.pages import readiness
from skillhub_mcp.skills.admission import REGISTRY_LENIENT
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.store.publish import roll_back
from skillhub_mcp.store.replica import Mirror, PublicationHealth
from skillhub_mcp.store.tables import PublicationTables, Target, publications


def health(hub: SkillHub) -> PublicationHealth:
    assert hub.publication is not None
    return hub.publication()


def storage_is(hub: SkillHub, state: str) -> bool:
    return health(hub).storage == state


def serves(hub: SkillHub, number: int) -> bool:
    return health(hub).number == number


def away(target: Target) -> Path:
    return Path(target.name).rename(Path(target.name).with_name("away"))


def objects_of(mirrors: Path) -> list[Path]:
    """Return the objects in the mirror, both manifests and data."""
    return [path for path in mirrors.glob("*/*.lance/**/*") if path.is_file()]


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    return tmp_path / "mirrors"


# Serving


def test_it_serves_a_publication_without_a_skills_directory(
    library: Library, target: Target, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"notes/diet.md": "Herring.", "run.sh": "echo"})
    write_skill("heron", "Watches the heron.")
    os.chmod(skills_dir / "walrus" / "run.sh", 0o755)
    library.publish(target)
    with hub_of(library.environment) as own:
        digest, answer = own.views.snapshot().digest, own.search("feed the walrus")
    shutil.rmtree(skills_dir)
    with replica(target, tmp_path) as hub:
        found = hub.search("feed the walrus")
        assert [(hit.handle, hit.score) for hit in found.hits] == [(hit.handle, hit.score) for hit in answer.hits]
        assert hub.load("walrus").instructions == "Fish."
        assert hub.read_file("walrus", "notes/diet.md").content == "Herring."
        assert [file.path for file in hub.list_files("walrus")[0]] == ["SKILL.md", "notes/diet.md", "run.sh"]
        assert hub.find("walrus").directory == "hub/walrus"
        assert hub.views.snapshot().digest == digest
        directory = Path(hub.files_of(hub.find("walrus")))
    assert directory.name == "walrus"
    assert os.access(directory / "run.sh", os.X_OK)
    assert not os.access(directory / "SKILL.md", os.X_OK)


def test_a_new_publication_is_served_with_its_files(
    library: Library, directory: Target, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Herring."})
    write_skill("heron", "Watches the heron.", body="Look.")
    library.publish(directory)
    with replica(directory, tmp_path, background=True) as hub:
        heron = hub.find("heron")
        changed = threading.Event()
        hub.views.subscribe(lambda is_other: changed.set() if is_other else None)
        write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Squid."})
        shutil.rmtree(skills_dir / "heron")
        write_skill("otter", "Floats with the otter.", body="Float.")
        library.publish(directory)
        assert changed.wait(30)
        assert [hit.handle for hit in hub.search("otter").hits] == ["otter"]
        assert hub.load("otter").instructions == "Float."
        assert hub.read_file("walrus", "diet.md").content == "Squid."
        with pytest.raises(SkillNotFound):
            hub.load("heron")
        with pytest.raises(SkillFilesUnavailable, match="no longer published"):
            hub.files_of(heron)
        until(partial(storage_is, hub, "ok"))
        assert (health(hub).number, health(hub).problem) == (2, "")


@pytest.mark.slow
def test_searches_during_publications_never_see_a_mixture(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    def publish(number: int) -> None:
        for name in ("walrus", "otter", "heron"):
            write_skill(name, f"Feeds the animal in generation{number}.", body=f"{name} {number}")
        library.publish(directory)

    publish(1)
    mixed: list[list[str]] = []
    with replica(directory, tmp_path, background=True) as hub:
        hub.views.snapshot()
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                descriptions = {hit.skill.description for hit in hub.search("feeds the animal", limit=3).hits}
                if len(descriptions) != 1:
                    mixed.append(sorted(descriptions))

        asking = [threading.Thread(target=ask) for _ in range(2)]
        for thread in asking:
            thread.start()
        for number in range(2, 5):
            publish(number)
            until(partial(serves, hub, number))
        for number in (5, 6):
            roll_back(directory, number - 4)
            until(partial(serves, hub, number))
        done.set()
        for thread in asking:
            thread.join()
        assert hub.load("walrus").instructions == "walrus 2"
    assert mixed == []


def test_names_and_sources_are_the_publications_without_local_paths(
    hub_environment: dict[str, str],
    directory: Target,
    tmp_path: Path,
    write_skill: SkillWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_skill("walrus", "Feeds the walrus.", body="Mine.", root=tmp_path / "home" / ".agents" / "skills")
    write_skill("walrus", "Feeds the walrus of all.", body="Ours.")
    # Neither the name nor the source is unique.
    write_skill("walrus", "Feeds the walrus twice.", body="Also ours.", directory="deep/walrus")
    own = {**hub_environment, "HOME": str(tmp_path / "home"), "SKILLHUB_ROOTS": "user,hub"}
    Library(own).publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.load("walrus").instructions == "Mine."
        assert {hub.load(name).instructions for name in ("hub/walrus", "hub/deep/walrus")} == {"Ours.", "Also ours."}
        assert hub.load("walrus@hub").source.value == "hub"
        handles = {Names(hub.views.snapshot()).handle(skill) for skill in hub.views.snapshot().everything}
        assert len(handles) == 3
        assert {"walrus", "walrus@hub"} < handles
        assert {skill.directory for skill in hub.views.snapshot().everything} == {
            "user/walrus",
            "hub/walrus",
            "hub/deep/walrus",
        }


def test_filters_and_strictness_are_the_replicas_own(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", category="animals")
    write_skill("invoice", "Writes an invoice.", category="money")
    write_skill("Odd Name", "Breaks a rule.", directory="odd")
    library.publish(directory)
    with replica(directory, tmp_path, SKILLHUB_ENABLED_CATEGORIES="animals") as hub:
        assert [skill.name for skill in hub.skills()] == ["walrus"]
        assert [hit.handle for hit in hub.search("invoice walrus").hits] == ["walrus"]
        with pytest.raises(SkillDisabled):
            hub.load("invoice")
    with replica(directory, tmp_path, SKILLHUB_STRICT="1") as hub:
        assert [skill.name for skill in hub.skills()] == ["invoice", "walrus"]
        assert {entry.name for entry in hub.registry_index(REGISTRY_LENIENT).skills} >= {"Odd Name"}


def test_a_replica_refuses_to_write(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    library.publish(directory)
    with replica(directory, tmp_path) as hub, pytest.raises(IndexUnavailable, match="writes no index"):
        hub.refresh(SyncDepth.REBUILD)
    # A hub of directories does not write its index into a publication either.
    before = objects_at(directory)
    with pytest.raises(InvalidSetting, match="in which no index is written"), hub_of({"DB_PATH": directory.name}):
        pass
    assert objects_at(directory) == before


# Requests to the storage


@pytest.mark.slow
def test_only_changes_are_fetched_and_searches_request_nothing(
    library: Library, bucket: Target, s3: ObjectStorage, write_skill: SkillWriter, tmp_path: Path
) -> None:
    for number in range(20):
        write_skill(f"walrus-{number}", f"Feeds walrus {number}.")
    library.publish(bucket)
    with replica(bucket, tmp_path, SKILLHUB_REFRESH_SECONDS="3600") as hub:
        before = {skill.name: skill for skill in hub.skills()}
        old = objects_at(bucket)
        write_skill("walrus-3", "Feeds walrus three.")
        library.publish(bucket)
        s3.faults.paths.clear()
        hub.refresh()
        fetched = [path for path in s3.faults.paths if "/data/" in path and "publications" not in path]
        assert fetched
        assert not [path for path in fetched if path.split("/team/skills/")[1] in old]
        assert [name for name, skill in before.items() if hub.find(name) != skill] == ["walrus-3"]
        s3.faults.paths.clear()
        hub.refresh()
        assert len(s3.faults.paths) == 1
        s3.faults.paths.clear()
        assert hub.search("walrus").hits
        assert hub.load("walrus-3")
        assert hub.read_file("walrus-4", "SKILL.md").content
        assert s3.faults.paths == []


# Faults of the storage


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("403", "/bucket-[0-9]+/?$"),
        ("503", "skills.lance/"),
        ("half", "publications.lance/.*data/"),
        ("half", "files.lance/"),
        ("wrong", "skills.lance/"),
    ],
)
def test_a_failing_storage_is_reported_once_and_keeps_serving(
    library: Library,
    bucket: Target,
    s3: ObjectStorage,
    write_skill: SkillWriter,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    kind: str,
    part: str,
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(bucket)
    with replica(bucket, tmp_path) as hub:
        assert hub.load("walrus").instructions == "Fish."
        write_skill("otter", "Floats with the otter.", body="Float.")
        library.publish(bucket)
        s3.faults.add("GET", part, kind, times=1_000)
        with caplog.at_level(logging.INFO, "skillhub_mcp.store"):
            for _ in range(2):
                hub.refresh()
                assert (health(hub).number, health(hub).storage) == (1, "failing")
                assert health(hub).problem
                assert bucket.name not in health(hub).problem
            warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
            assert len(warnings) == 1, warnings
            assert "publication 1 is served from the mirror" in warnings[0]
            assert [hit.handle for hit in hub.search("feed the walrus").hits] == ["walrus"]
            assert hub.load("walrus").instructions == "Fish."
            s3.faults.due.clear()
            hub.refresh()
        assert sum("answers again" in record.message for record in caplog.records) == 1
        assert hub.load("otter").instructions == "Float."
        assert (health(hub).number, health(hub).storage, health(hub).problem) == (2, "ok", "")


@pytest.mark.slow
def test_a_slow_storage_delays_no_caller_and_keeps_the_probe_green(
    library: Library, bucket: Target, s3: ObjectStorage, write_skill: SkillWriter, tmp_path: Path
) -> None:
    with replica(bucket, tmp_path, background=True) as hub:
        assert probe(hub, anonymous=True)[0] == 503
        write_skill("walrus", "Feeds the walrus.", body="Fish.")
        library.publish(bucket)
        until(partial(storage_is, hub, "ok"))
        status, details = probe(hub)
        assert (status, details["index"], details["storage"], details["publication"]) == (200, "ready", "ok", 1)
        assert "storage_problem" not in details
        s3.faults.add("GET", "", "slow", times=1_000)
        began = s3.faults.requests["GET"]
        until(lambda: s3.faults.requests["GET"] > began)
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."
        # All of this during one unanswered request.
        assert s3.faults.requests["GET"] == began + 1
        assert (probe(hub)[0], probe(hub)[1]["index"]) == (200, "ready")
        assert probe(hub, anonymous=True)[1].keys() == {"index", "storage"}
        s3.faults.due.clear()


def probe(hub: SkillHub, *, anonymous: bool = False) -> tuple[int, dict[str, object]]:
    answer = readiness(hub, anonymous=anonymous)
    details: dict[str, object] = json.loads(bytes(answer.body))
    return answer.status_code, details


def test_a_replica_without_storage_starts_from_its_mirror(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.skills()
    gone = away(directory)
    with replica(directory, tmp_path, background=True) as hub:
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."
        until(partial(storage_is, hub, "failing"))
        assert (health(hub).number, health(hub).problem) == (1, "Nothing was published to the storage yet")
        gone.rename(directory.name)
        until(partial(storage_is, hub, "ok"))


def test_without_storage_and_mirror_it_reports_and_recovers(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    with replica(directory, tmp_path, background=True) as hub:
        with pytest.raises(IndexUnavailable, match="Nothing was published to the storage yet"):
            hub.search("walrus")
        library.publish(directory)
        until(hub.views.peek)
        assert hub.load("walrus")


# Damage


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("part", ["skills.lance/data", "_indices", "skills.lance/_versions", "files.lance"])
def test_a_damaged_mirror_is_fetched_again(
    library: Library,
    directory: Target,
    write_skill: SkillWriter,
    tmp_path: Path,
    mirrors: Path,
    damage: Callable[[Path], None],
    part: str,
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.search("walrus").hits
    whole = {path: path.read_bytes() for path in objects_of(mirrors)}
    for path in whole:
        if part in path.as_posix():
            damage(path)
    with replica(directory, tmp_path) as hub:
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."
    assert {path: path.read_bytes() for path in objects_of(mirrors)} == whole


def test_a_check_finds_damage_of_a_mirror_in_use(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path, mirrors: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.skills()
        for path in objects_of(mirrors):
            flip(path)
        hub.refresh(SyncDepth.VERIFY)
        assert [hit.handle for hit in hub.search("walrus").hits] == ["walrus"]
        assert hub.load("walrus").instructions == "Fish."


@pytest.mark.parametrize("deleted", ["", "*", "*/publication.json", "*/skills.lance"])
def test_a_deleted_mirror_is_restored_after_a_restart(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path, mirrors: Path, deleted: str
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(directory)
    with replica(directory, tmp_path, background=True) as hub:
        assert hub.load("walrus").instructions == "Fish."
        until(partial(storage_is, hub, "ok"))
        for place in list(mirrors.glob(deleted)) if deleted else [mirrors]:
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    with replica(directory, tmp_path) as hub:
        assert hub.search("walrus").hits
    away(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.load("walrus").instructions == "Fish."


def test_a_modified_copy_of_a_skill_is_restored(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.", files={"diet.md": "Herring."})
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        copy = Path(hub.files_of(hub.find("walrus")))
    (copy / "diet.md").write_text("Poison.")
    (copy / "more.md").write_text("More poison.")
    with replica(directory, tmp_path) as hub:
        assert hub.read_file("walrus", "diet.md").content == "Herring."
        assert [file.path for file in hub.list_files("walrus")[0]] == ["SKILL.md", "diet.md"]
        # Also while it is in use.
        shutil.rmtree(copy)
        assert hub.read_file("walrus", "diet.md").content == "Herring."


def test_the_publication_of_an_older_version_is_refused_until_the_next(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.")
    library.publish(directory)
    older = publications(directory)[0].model_copy(update={"number": 2, "schema_version": 1})
    PublicationTables(directory).commit(older)
    with (
        replica(directory, tmp_path) as hub,
        pytest.raises(IndexUnavailable, match="2 in the storage was written by an older"),
    ):
        hub.search("walrus")
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.search("walrus").hits


def test_unreadable_files_are_reported_and_the_rest_is_served(
    library: Library, directory: Target, write_skill: SkillWriter, tmp_path: Path, mirrors: Path
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    write_skill("otter", "Floats.", body="Float.")
    library.publish(directory)
    with replica(directory, tmp_path) as hub:
        assert hub.load("walrus").instructions == "Fish."
        for path in objects_of(mirrors):
            if "files.lance/data" in path.as_posix():
                path.unlink()
        with pytest.raises(SkillFilesUnavailable) as caught:
            hub.load("otter")
        assert str(tmp_path) not in f"{caught.value.message} {caught.value.hint}"
        assert hub.load("walrus").instructions == "Fish."
        assert {hit.handle for hit in hub.search("walrus otter floats").hits} == {"walrus", "otter"}


@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
@pytest.mark.parametrize("table", ["files", "skills"])
def test_a_damaged_publication_is_reported_and_served_after_a_fix(
    library: Library,
    directory: Target,
    write_skill: SkillWriter,
    tmp_path: Path,
    damage: Callable[[Path], None],
    table: str,
) -> None:
    write_skill("walrus", "Feeds the walrus.", body="Fish.")
    library.publish(directory)
    for path in Path(directory.name).glob(f"{table}.lance/data/*"):
        damage(path)
    with replica(directory, tmp_path) as hub:
        with pytest.raises((IndexUnavailable, SkillFilesUnavailable)):
            hub.load("walrus")
        library.publish(directory, rebuild=True)
        hub.refresh()
        assert hub.load("walrus").instructions == "Fish."
        assert [one.number for one in publications(directory)] == [1]


def test_processes_with_one_mirror_do_not_remove_what_another_fetches(tmp_path: Path) -> None:
    data = tmp_path / "skills.lance" / "data"
    data.mkdir(parents=True)
    for name in ("served.lance", "fetched.lance", "left.lance"):
        (data / name).touch()
    os.utime(data / "left.lance", (0, 0))
    Mirror(str(tmp_path)).trim({"skills.lance/data/served.lance"}, ())
    assert sorted(path.name for path in data.iterdir()) == ["fetched.lance", "served.lance"]
