"""The files of an index in its database directory, and their permissions."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.search.builders import Desk

from skillhub_mcp.index.state_file import something_else

Writer = Callable[..., Path]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def read_by_others(directory: Path) -> list[str]:
    """Return the files that other users can reach and read."""
    found = []
    for entry in os.scandir(directory):
        mode = entry.stat(follow_symlinks=False).st_mode
        found += [entry.name] if mode & 0o007 and stat.S_ISREG(mode) else []
        found += read_by_others(Path(entry.path)) if stat.S_ISDIR(mode) and mode & 0o001 else []
    return sorted(found)


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A directory that the user created for the index."""
    made = tmp_path / "person" / "database"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize(
    "left", [(), ("lost+found/",), (".gitkeep",), ("skills.lance/", "report.html"), ("statistics-skills-hub-7.json",)]
)
def test_an_index_is_written_into_an_empty_directory_or_a_database(database: Path, left: tuple[str, ...]) -> None:
    for name in left:
        (database / name).mkdir() if name.endswith("/") else (database / name).touch()
    assert something_else(f"{database}{os.sep}") is None


@pytest.mark.parametrize("name", ["report.html", "skills.lancedb"])
def test_a_directory_of_other_files_is_refused_by_name(database: Path, name: str) -> None:
    (database / name).touch()
    (database / "lost+found").mkdir()
    assert something_else(str(database)) == name
    assert something_else(str(database / "not" / "there")) is None


@pytest.mark.parametrize("mode", [0o755, 0o2775], ids=oct)
def test_the_index_is_private_and_keeps_the_mode_of_its_directory(
    database: Path, skills_dir: Path, write_skill: Writer, mode: int, umask: int
) -> None:
    write_skill("one")
    for directory in (database.parent, database):
        directory.chmod(mode)
    for name in ("two", "three"):
        Desk(database, skills_dir).sync()
        assert read_by_others(database.parent) == []
        assert (mode_of(database.parent), mode_of(database)) == (mode, mode)
        write_skill(name)
