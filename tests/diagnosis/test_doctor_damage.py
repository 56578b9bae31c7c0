"""`skillhub doctor` with a damaged index: it reports the damage with a fix, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

pytestmark = pytest.mark.slow

SEARCHES = (
    ["search", "merges invoices", "--json"],
    ["search", "invoices", "--category", "docs", "--json"],
    ["search", "invoices pdf", "--json"],
)


def delete(file: Path) -> None:
    file.unlink()


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.fixture
def database(skillhub: Skillhub, write_skill: SkillWriter, hub_environment: dict[str, str]) -> Path:
    """A database of two published versions, with an index for each kind of search."""
    for number in range(8):
        write_skill(f"s{number}", f"Merges invoices of kind {number}.", category="docs", tags="pdf, csv")
    assert skillhub("index").code == 0
    write_skill("s3", "Merges no invoices.", category="docs", tags="pdf")
    assert skillhub("index").code == 0
    return Path(hub_environment["DB_PATH"])


@pytest.mark.parametrize(("damage", "pattern"), [(delete, "_versions/*.manifest"), (truncate, "data/*.lance")])
def test_deleted_or_truncated_files_of_a_table_are_reported(
    skillhub: Skillhub, database: Path, damage: Callable[[Path], None], pattern: str
) -> None:
    sound = [skillhub(*search).json["skills"] for search in SEARCHES]
    for file in (database / "skills.lance").glob(pattern):
        damage(file)
    done = skillhub("doctor")
    assert done.code == 1, done.out
    assert f"{database}\n  the index is damaged: " in done.out
    assert "run skillhub --reindex" in done.out
    # It repairs nothing by itself.
    assert skillhub("doctor", "--json").json["index"] == "failed"
    assert skillhub("--reindex").code == 0
    assert skillhub("doctor").code == 0
    assert [skillhub(*search).json["skills"] for search in SEARCHES] == sound


def test_changes_between_versions_are_not_damage(skillhub: Skillhub, database: Path, write_skill: SkillWriter) -> None:
    for number in range(4):
        write_skill("s1", f"Merges invoices for the {number}. time.")
        assert skillhub("index").code == 0
        assert skillhub("doctor").code == 0
    # A copy, as of a backup, has other times and the same content.
    for file in database.rglob("*.lance"):
        if file.is_file():
            os.utime(file)
    assert skillhub("doctor").code == 0
