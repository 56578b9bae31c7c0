"""Stores of both kinds, empty for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from skillhub_mcp.storage.object_store import ObjectStore
from skillhub_mcp.storage.targets import open_store
from tests.fakes.object_storage import ObjectStorage, object_storage

_numbers = itertools.count()


@dataclass(frozen=True)
class Target:
    """A place that is published to, as a person names it, with the options that it takes."""

    url: str
    options: dict[str, str]

    def open(self) -> ObjectStore:
        return open_store(self.url, self.options)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStorage]:
    """The one S3 server of all tests."""
    with object_storage() as server:
        yield server


@pytest.fixture
def s3(s3_server: ObjectStorage) -> ObjectStorage:
    """The S3 server, without faults, and its counts at nothing."""
    s3_server.faults.due.clear()
    s3_server.faults.requests.clear()
    s3_server.faults.paths.clear()
    return s3_server


@pytest.fixture
def bucket(s3: ObjectStorage) -> Target:
    """An empty bucket, with a prefix in it."""
    return Target(f"{s3.make_bucket(f'bucket-{next(_numbers)}')}/team/skills", s3.options)


@pytest.fixture(params=["directory", "bucket"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """An empty place of each kind."""
    if request.param == "bucket":
        found = request.getfixturevalue("bucket")
        assert isinstance(found, Target)
        return found
    return Target(str(tmp_path / "publication"), {})
