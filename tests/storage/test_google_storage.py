"""A bucket of Google's, whose conditional writes go by an object's generation and not by its ETag."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from tests.fakes.google_storage import google_storage
from tests.storage import test_stores
from tests.storage.conftest import Target

_numbers = itertools.count()


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with google_storage(tmp_path_factory.mktemp("google")) as options:
        yield options


@pytest.fixture
def google(options: dict[str, str]) -> Target:
    """An empty prefix of a bucket."""
    return Target(f"gs://skills/team-{next(_numbers)}", options)


@test_stores.FOUNDATIONS
def test_it_gives_what_every_store_does(outcome: Callable[[Target], None], google: Target) -> None:
    outcome(google)
