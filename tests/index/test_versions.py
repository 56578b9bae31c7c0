"""Which versions of a table nobody reads any more."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from skillhub_mcp.index.versions import KEPT_SECONDS, TableVersions


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "_versions").mkdir()
    return tmp_path


def write(table: Path, **ages: float) -> None:
    """Write manifests, `v7=3.0` being that of version 7, three seconds old."""
    now = time.time()
    for name, age in ages.items():
        path = table / "_versions" / f"{2**64 - 1 - int(name[1:]):020}.manifest"
        path.write_bytes(b"x")
        os.utime(path, (now - age, now - age))


def unread(table: Path, *, published: int | None, newest: int) -> list[int]:
    paths = TableVersions(str(table)).unread(published=published, newest=newest)
    return [2**64 - 1 - int(Path(path).stem) for path in paths]


LONG = KEPT_SECONDS + 5


def test_a_version_goes_by_when_the_next_one_took_its_place(table: Path) -> None:
    write(table, v1=900, v2=800, v3=LONG, v4=1, v5=0)
    # Version 3 was read until a second ago, however old it is.
    assert unread(table, published=4, newest=5) == [1, 2]


def test_what_readers_open_and_what_is_to_be_published_stays_at_any_age(table: Path) -> None:
    write(table, v1=900, v2=800, v3=700)
    assert unread(table, published=1, newest=3) == [2]
    assert unread(table, published=2, newest=3) == [1]
    assert unread(table, published=3, newest=3) == [1, 2]


def test_versions_between_those_were_never_published_and_go_at_once(table: Path) -> None:
    write(table, v4=1, v5=0, v6=0, v7=0)
    assert unread(table, published=4, newest=7) == [5, 6]


def test_without_a_published_version_age_alone_counts(table: Path) -> None:
    write(table, v1=900, v2=LONG, v3=1)
    assert unread(table, published=None, newest=3) == [1]


def test_files_of_another_name_are_left_alone(table: Path) -> None:
    write(table, v1=900, v2=LONG, v3=LONG)
    for name in ("1.manifest", "latest_version_hint.json", f"{2**64 - 1:020}.manifest.tmp"):
        (table / "_versions" / name).write_bytes(b"")
    assert unread(table, published=3, newest=3) == [1, 2]
