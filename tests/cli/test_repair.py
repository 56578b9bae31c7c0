"""`skillhub index --repair`: what is damaged, what mended it, and what it does not touch."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import SKILLHUB, Skillhub
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow


@pytest.fixture
def database(skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str]) -> Path:
    for name in ("one", "two"):
        write_skill(name, f"About walruses of kind {name}.")
    assert skillhub("index").code == 0
    return Path(hub_environment["DB_PATH"])


def spoil(database: Path, pattern: str) -> list[Path]:
    files = list(database.parent.glob(pattern))
    for file in files:
        os.truncate(file, file.stat().st_size // 2)
    assert files
    return files


def contents(directory: Path) -> Iterator[tuple[str, bytes, int]]:
    for file in sorted(directory.rglob("*")):
        if file.is_file() and file.suffix != ".lock":
            yield str(file), file.read_bytes(), file.stat().st_mtime_ns


def test_each_damage_is_told_with_its_mend_and_mended(skillhub: Skillhub, database: Path, skills_dir: Path) -> None:
    skills = list(contents(skills_dir))
    spoil(database, "*/statistics-*")
    damaged = list(contents(database.parent))
    looked = skillhub("index", "--repair", "--dry-run")
    assert looked.code == 1
    assert "statistics  the statistics of hub cannot be read\n            to mend: the terms are counted" in looked.out
    assert list(contents(database.parent)) == damaged
    done = skillhub("index", "--repair")
    assert (done.code, done.out.count("            mended: ")) == (0, 1)
    again = skillhub("index", "--repair")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("nothing is damaged\nindex       unchanged\ntime ")
    assert list(contents(skills_dir)) == skills
    assert len(skillhub("search", "walruses", "--json").json["skills"]) == 2


def test_a_program_reads_the_same_as_json(skillhub: Skillhub, database: Path) -> None:
    spoil(database, "*/skills.lance/data/*")
    found = skillhub("index", "--repair", "--dry-run", "--json")
    (table,) = found.json["damaged"]
    assert (found.code, found.json["dry_run"], found.json["index"]) == (1, True, None)
    assert (table["part"], table["mended"]) == ("table", False)
    done = skillhub("index", "--repair", "--json").json
    assert [(one["part"], one["mended"]) for one in done["damaged"]] == [("table", True)]
    assert (done["index"]["rebuilt"], done["index"]["reason"]) == (True, "it is damaged")
    assert skillhub("index", "--repair", "--json").json["damaged"] == []


def test_what_cannot_be_mended_is_told_and_fails(
    skillhub: Skillhub, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(database, "*/statistics-*")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skillhub_mcp.index.root_statistics.save_statistics", full)
    done = skillhub("index", "--repair")
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert "No space left on device" in done.err


def test_two_at_once_mend_it_once_and_both_end_well(
    skillhub: Skillhub, database: Path, hub_environment: dict[str, str]
) -> None:
    spoil(database, "*/skills.lance/data/*")
    both = [
        subprocess.Popen([*SKILLHUB, "index", "--repair"], env=hub_environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert skillhub("index", "--repair").out.startswith("nothing is damaged\n")


@pytest.mark.parametrize(
    "arguments", [["--dry-run"], ["--repair", "--verify"], ["--repair", "--forget-missing"], ["--verify", "--dry-run"]]
)
def test_options_that_exclude_each_other_are_refused(skillhub: Skillhub, arguments: list[str]) -> None:
    assert skillhub("index", *arguments).code == 2


def test_a_newer_index_is_left_alone(skillhub: Skillhub, database: Path) -> None:
    state = database.with_name("index_state.json")
    state.write_text(json.dumps(json.loads(state.read_text(encoding="utf-8")) | {"format": 99}), encoding="utf-8")
    before = list(contents(database.parent))
    done = skillhub("index", "--repair")
    assert done.code == 1
    assert "was written by a newer SkillHub" in done.err
    assert list(contents(database.parent)) == before
