"""`skillhub doctor` with a damaged index: it names what is damaged and what mends it, and leaves it as it is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow

SEARCHES = (
    ["search", "merges invoices", "--json"],
    ["search", "invoices", "--category", "docs", "--json"],
    ["search", "invoices", "--tag", "pdf", "--json"],
)


def delete(file: Path) -> None:
    file.unlink()


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for place in range(0, len(content), max(1, len(content) // 16)):
        content[place] ^= 0xFF
    file.write_bytes(content)


@pytest.fixture
def database(skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str]) -> Path:
    """A database of two published versions, with an index for each kind of search."""
    for number in range(8):
        write_skill(f"s{number}", f"Merges invoices of kind {number}.", category="docs", tags="pdf, csv")
    assert skillhub("index").code == 0
    write_skill("s3", "Merges no invoices.", category="docs", tags="pdf")
    assert skillhub("index").code == 0
    return Path(hub_environment["DB_PATH"])


def kinds_of(database: Path) -> Iterator[Path]:
    """Yield one file of each kind, of those that are read, newest first."""
    seen = set()
    found = (Path(directory, name) for directory, _, names in os.walk(database) for name in names)
    for file in sorted(found, key=lambda file: (-file.stat().st_mtime_ns, file)):
        kind = re.sub(r"[0-9a-f-]{9,}|\d+", "#", str(file.relative_to(database)))
        harmless = "_transactions" in kind or kind.endswith(".json")
        if kind not in seen and not harmless:
            seen.add(kind)
            yield file


def test_every_kind_of_file_that_is_deleted_truncated_or_flipped_is_noticed_and_mended(
    skillhub: Skillhub, database: Path, tmp_path: Path
) -> None:
    assert skillhub("doctor").code == 0
    sound = [skillhub(*search).json["skills"] for search in SEARCHES]
    shutil.copytree(database.parent, tmp_path / "sound")
    damages: tuple[Callable[[Path], None], ...] = (delete, truncate, flip)
    kinds = list(kinds_of(database))
    assert {file.suffix for file in kinds} == {".lance", ".manifest", ".arrow", ".npz", ".arrays"}
    for number, file in enumerate(kinds):
        for damage in damages:
            shutil.rmtree(database.parent)
            shutil.copytree(tmp_path / "sound", database.parent)
            damage(file)
            done = skillhub("doctor")
            if damage is delete and file.suffix in {".npz", ".arrays"}:
                # Statistics and postings that are lost are made from the table.
                assert done.code == 0
                assert [skillhub(*search).json["skills"] for search in SEARCHES] == sound
                continue
            assert done.code == 1, (damage, file, done.out)
            assert f"{database}\n  the index is damaged: " in done.out
            assert "run skillhub index --repair" in done.out
            if damage is not delete:
                assert str(file.relative_to(database)) in done.out
            if damage is not flip:
                continue
            # It mends nothing by itself, and what it names does; so does --verify.
            assert "index     damaged" in skillhub("doctor", "--verbose").out
            assert skillhub("doctor", "--json").json["index"] == "damaged"
            assert skillhub("index", ("--repair", "--verify")[number % 2]).code == 0
            assert skillhub("doctor").code == 0, (damage, file)
            assert [skillhub(*search).json["skills"] for search in SEARCHES] == sound


def test_all_files_gone_or_the_directory_is_noticed(skillhub: Skillhub, database: Path) -> None:
    for file in [path for path in database.rglob("*") if path.is_file()]:
        file.unlink()
    assert skillhub("doctor").code == 1
    shutil.rmtree(database)
    done = skillhub("doctor")
    assert (done.code, "the index is damaged: " in done.out) == (1, True)
    assert skillhub("--reindex").code == 0
    assert skillhub("doctor").code == 0


@pytest.mark.parametrize("damage", [delete, truncate])
def test_an_index_without_checksums_is_read(skillhub: Skillhub, database: Path, damage: Callable[[Path], None]) -> None:
    for notes in database.glob("checksums-*.json"):
        notes.unlink()
    assert skillhub("doctor").code == 0
    for data in database.glob("*.lance/data/*"):
        damage(data)
    done = skillhub("doctor")
    assert (done.code, "the index is damaged: " in done.out) == (1, True)


def test_what_changes_between_two_versions_is_no_damage(
    skillhub: Skillhub, database: Path, write_skill: SkillWriter
) -> None:
    for number in range(4):
        write_skill("s1", f"Merges invoices for the {number}. time.")
        assert skillhub("index").code == 0
        assert skillhub("doctor").code == 0
    # A copy, as of a backup, has other times and the same content.
    for file in database.rglob("*.lance"):
        if file.is_file():
            os.utime(file)
    assert skillhub("doctor").code == 0


def test_damage_stays_known_after_the_next_change(skillhub: Skillhub, database: Path, write_skill: SkillWriter) -> None:
    (docs,) = sorted(database.glob("*.lance/_indices/*/part_0_docs.lance"))[:1]
    flip(docs)
    write_skill("s1", "Something else altogether.")
    skillhub("index")
    assert skillhub("doctor").code == 1


def test_other_problems_are_told_beside_the_damage(
    skillhub: Skillhub, database: Path, write_skill: SkillWriter, tmp_path: Path
) -> None:
    (data,) = sorted(database.glob("*.lance/data/*"))[:1]
    flip(data)
    silent = write_skill("silent", frontmatter="name: silent")
    rules = tmp_path / "rules.json"
    rules.write_text("{", encoding="utf-8")
    found = skillhub("doctor", "--json", SKILLHUB_PERMISSIONS=str(rules)).json
    assert {problem["about"] for problem in found["problems"]} == {str(database), f"{silent}/SKILL.md", str(rules)}
