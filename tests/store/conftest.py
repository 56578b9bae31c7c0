"""Targets of both kinds, empty for each test, and the environment of a replica."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fakes.object_storage import ObjectStorage, object_storage
from tests.store.publications import Library

from skillhub_mcp.store.tables import Target, open_target

_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStorage]:
    """The one S3 server of all tests."""
    with object_storage() as server:
        yield server


@pytest.fixture
def s3(s3_server: ObjectStorage) -> ObjectStorage:
    """The S3 server, without faults and with empty counts."""
    s3_server.faults.due.clear()
    s3_server.faults.requests.clear()
    s3_server.faults.paths.clear()
    return s3_server


@pytest.fixture
def bucket(s3: ObjectStorage) -> Target:
    """An empty prefix in an empty bucket."""
    return open_target(f"{s3.make_bucket(f'bucket-{next(_numbers)}')}/team/skills", s3.options)


@pytest.fixture
def directory(tmp_path: Path) -> Target:
    """A directory that does not exist yet."""
    return open_target(str(tmp_path / "publication"), {})


@pytest.fixture(params=["directory", pytest.param("bucket", marks=pytest.mark.slow)])
def target(request: pytest.FixtureRequest) -> Target:
    """An empty target of each kind."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Target)
    return found


@pytest.fixture
def library(hub_environment: dict[str, str]) -> Library:
    """The skills of the test."""
    return Library(hub_environment)
