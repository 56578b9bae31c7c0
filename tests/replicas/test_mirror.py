"""The mirror: parts appear whole or not at all, several processes share it, and it has a bound."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from skillhub_mcp.errors import PublicationDamaged, PublicationMissing
from skillhub_mcp.replicas import mirror as mirror_module
from skillhub_mcp.replicas.mirror import FetchAbandoned, Mirror, MirroredPart, copy_name
from skillhub_mcp.storage.directory_store import DirectoryStore
from skillhub_mcp.storage.manifest import POINTER, ObjectRef, pack_path

MEBIBYTE = 1 << 20


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(str(tmp_path / "publication"))


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(str(tmp_path / "mirrors" / "one"), most_bytes=MEBIBYTE)


def put(store: DirectoryStore, content: bytes) -> MirroredPart:
    """Store a pack, and return it as a snapshot names it."""
    sha256 = hashlib.sha256(content).hexdigest()
    store.put(pack_path(sha256), content)
    return MirroredPart(pack_path(sha256), ObjectRef(sha256, len(content)))


def aged(mirror: Mirror, part: MirroredPart, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(mirror.path(part.path), (then, then))


def files(mirror: Mirror) -> set[str]:
    return {os.path.relpath(place, mirror.directory) for place in map(str, Path(mirror.directory).rglob("*"))}


def test_a_part_is_fetched_once_and_is_the_owners_alone(mirror: Mirror, store: DirectoryStore) -> None:
    part = put(store, b"x" * 1_000)
    assert mirror.fetch(store, part)
    assert not mirror.fetch(store, part)
    assert mirror.read(part) == b"x" * 1_000
    for place in [Path(mirror.directory), *Path(mirror.directory).rglob("*")]:
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0


def test_a_part_larger_than_a_request_is_fetched_in_pieces(
    mirror: Mirror, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "CHUNK_BYTES", 100)
    part = put(store, os.urandom(1_050))
    assert mirror.fetch(store, part)
    assert mirror.is_whole(part)


@pytest.mark.parametrize("there", [b"", b"half", b"other"])
def test_what_is_not_what_was_written_never_gets_its_name(mirror: Mirror, store: DirectoryStore, there: bytes) -> None:
    part = put(store, b"right")
    store.put(part.path, there)
    with pytest.raises(PublicationDamaged):
        mirror.fetch(store, part)
    assert not mirror.has(part)
    store.delete([part.path])
    with pytest.raises(PublicationMissing):
        mirror.fetch(store, part)
    store.put(POINTER, b"{}")
    with pytest.raises(PublicationDamaged, match="is missing"):
        mirror.fetch(store, part)
    assert files(mirror) == {"incoming", "packs"}


def test_what_nobody_wants_any_more_leaves_nothing(mirror: Mirror, store: DirectoryStore) -> None:
    part = put(store, b"right")
    with pytest.raises(FetchAbandoned):
        mirror.fetch(store, part, goes_on=lambda: False)
    assert files(mirror) == {"incoming", "packs"}


def test_a_part_that_is_larger_than_the_mirror_may_be_is_not_fetched(mirror: Mirror, store: DirectoryStore) -> None:
    with pytest.raises(PublicationDamaged, match="the mirror may have 1,048,576"):
        mirror.fetch(store, put(store, bytes(MEBIBYTE + 1)))


def test_several_fetch_and_copy_at_once_into_one_mirror(tmp_path: Path, store: DirectoryStore) -> None:
    parts = [put(store, os.urandom(10_000)) for _ in range(20)]
    wrong: list[BaseException] = []

    def work() -> None:
        own = Mirror(str(tmp_path / "mirror"), most_bytes=MEBIBYTE)
        try:
            for part in parts:
                own.fetch(store, part)
                own.keep_copy(copy_name(part.ref.sha256[:32], 5), lambda place: _write(place, "SKILL.md"))
                assert own.is_whole(part)
        except BaseException as error:  # noqa: BLE001 - told below
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(list((tmp_path / "mirror" / "skills").iterdir())) == 20
    assert list((tmp_path / "mirror" / "incoming").iterdir()) == []


def _write(place: str, name: str) -> None:
    Path(place, name).write_text("right")


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from skillhub_mcp.replicas.mirror import Mirror, MirroredPart
from skillhub_mcp.storage.directory_store import DirectoryStore
from skillhub_mcp.storage.manifest import ObjectRef
mirror, store = Mirror(sys.argv[2], most_bytes=1 << 30), DirectoryStore(sys.argv[3])
part = MirroredPart(sys.argv[4], ObjectRef(sys.argv[4].rpartition("/")[2], int(sys.argv[5])))
mirror.keep_copy("copy-5", lambda place: (open(place + "/half", "w").close(), print("copying", flush=True)))
os.replace = lambda *_: (print("fetched", flush=True), os.kill(os.getpid(), 9))
mirror.fetch(store, part)
"""


def test_a_replica_that_is_killed_leaves_nothing_that_is_taken_for_whole(
    mirror: Mirror, store: DirectoryStore, tmp_path: Path
) -> None:
    part = put(store, os.urandom(100_000))
    source = os.path.dirname(os.path.dirname(os.path.dirname(mirror_module.__file__)))
    place = str(tmp_path / "publication")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, source, mirror.directory, place, part.path, str(part.ref.size)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (-9, ["copying", "fetched"]), done.stderr
    assert not mirror.has(part)
    left = list(Path(mirror.directory, "incoming").iterdir())
    assert len(left) == 1
    mirror.trim([])
    assert left[0].exists()
    hours_ago = time.time() - 2 * 3_600
    os.utime(left[0], (hours_ago, hours_ago))
    mirror.trim([])
    assert not left[0].exists()
    assert mirror.fetch(store, part)


def test_what_nobody_uses_goes_after_a_day_and_sooner_where_there_is_no_room(
    mirror: Mirror, store: DirectoryStore
) -> None:
    used, young, idle, old = (put(store, os.urandom(200_000)) for _ in range(4))
    for part, age in ((used, 100_000.0), (young, 10.0), (idle, 1_000.0), (old, 100_000.0)):
        mirror.fetch(store, part)
        aged(mirror, part, age)
    assert mirror.trim([used]) == 200_000
    assert [mirror.has(part) for part in (used, young, idle, old)] == [True, True, True, False]
    small = Mirror(mirror.directory, most_bytes=100_000)
    small.trim([used])
    assert [mirror.has(part) for part in (used, young, idle)] == [True, True, False]
    mirror.note_used([young])
    aged(mirror, young, 100_000.0)
    mirror.note_used([young])
    assert mirror.trim([used]) == 0


def test_copies_of_skills_count_with_their_bytes_and_the_least_used_go_first(mirror: Mirror) -> None:
    for number, age in enumerate((5_000, 50_000, 500)):
        name = copy_name(f"{number:032}", 600_000)
        mirror.keep_copy(name, lambda place: _write(place, "SKILL.md"))
        os.utime(mirror.path(f"skills/{name}"), (time.time() - age,) * 2)
    assert mirror.size() == 1_800_000
    assert mirror.trim([]) == 1_200_000
    assert [int(name[:32]) for name in os.listdir(mirror.path("skills"))] == [2]
    # Who uses one says so, for whoever trims next.
    assert mirror.has_copy(copy_name(f"{2:032}", 600_000))
    assert not mirror.has_copy(copy_name(f"{1:032}", 600_000))
