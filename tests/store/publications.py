"""Publish the skills of a test, read a publication with LanceDB alone, and serve it from a replica."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hubs import hub_of

from skillhub_mcp.bootstrap.hub import library_to_publish
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import read_settings
from skillhub_mcp.store.publish import LibraryToStore, PublishOptions, PublishReport, publish
from skillhub_mcp.store.tables import Target


@dataclass(frozen=True)
class Library:
    """A local library: the environment of its hub."""

    environment: Mapping[str, str]

    @contextmanager
    def read(self) -> Iterator[LibraryToStore]:
        """Yield the library to publish, read just now."""
        with hub_of(self.environment) as hub:
            yield library_to_publish(read_settings(self.environment)[0], hub)

    def publish(self, target: Target, **options: Any) -> PublishReport:
        """Publish it."""
        with self.read() as library:
            return publish(library, target, PublishOptions(**options))


@dataclass(frozen=True)
class Found:
    """A publication as read: its row, the skill rows by key, and file bytes by path."""

    publication: Mapping[str, Any]
    skills: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, bytes]

    @property
    def number(self) -> int:
        return int(self.publication["number"])

    @property
    def keys(self) -> list[str]:
        return sorted(self.skills)


def found_at(target: Target, number: int | None = None) -> Found:
    """Read a publication with LanceDB alone; the newest without a number."""
    rows = {row["number"]: row for row in rows_of(target, "publications")}
    publication = rows[max(rows) if number is None else number]
    skills = rows_of(target, "skills", publication["skills_version"])
    contents = {row["sha256"]: row["content"] for row in rows_of(target, "files", publication["files_version"])}
    assert len({row["path"] for row in skills}) == len(skills) == publication["skills"]
    files = {f"{row['path']}/{file['path']}": contents[file["sha256"]] for row in skills for file in row["files"]}
    assert (len(files), sum(map(len, files.values()))) == (publication["files"], publication["bytes"])
    return Found(publication, {row["path"]: row for row in skills}, files)


def rows_of(target: Target, name: str, version: int | None = None) -> list[dict[str, Any]]:
    """Return the rows of a table, as any program reads them."""
    table = opened(target, name)
    if version is not None:
        table.checkout(version)
    found: list[dict[str, Any]] = table.to_arrow().to_pylist()
    return found


def opened(target: Target, name: str) -> Any:
    """Return a table, opened with LanceDB alone."""
    import lancedb

    return lancedb.connect(target.name, storage_options=dict(target.options) or None).open_table(name)


def objects_at(target: Target) -> dict[str, int]:
    """Return the size of each object at a target by path; nothing if there is no target."""
    return target.list()


def replica_environment(target: Target, place: Path, **more: str) -> dict[str, str]:
    """Return the environment of a replica, with its home and its mirror below a directory."""
    options = ",".join(f"{key}={value}" for key, value in target.options.items())
    return {
        "HOME": str(place),
        "SKILLHUB_READ_ONLY": "1",
        "DB_PATH": target.name,
        "SKILLHUB_MIRROR_DIR": str(place / "mirrors"),
        "SKILLHUB_REFRESH_SECONDS": "0.2",
        "EMBEDDING_PROVIDER": "none",
        **({"SKILLHUB_STORAGE_OPTIONS": options} if options else {}),
        **more,
    }


@contextmanager
def replica(target: Target, place: Path, *, background: bool = False, **more: str) -> Iterator[SkillHub]:
    """Yield a replica of a target; with `background` it polls for publications, as a server does."""
    with hub_of(replica_environment(target, place, **more), background=background) as hub:
        if background:
            hub.start()
        yield hub


def until(reached: Callable[[], object]) -> None:
    """Wait until a condition holds; fail after half a minute."""
    end = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)
