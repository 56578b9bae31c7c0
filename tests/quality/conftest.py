"""One index of the real skills for every test of quality."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> dict[str, str]:
    """The environment of hubs over one index, which has vectors that a search by text alone leaves aside."""
    database = tmp_path_factory.mktemp("quality") / "skills.lancedb"
    return {"SKILLS_DIR": str(corpus), "DB_PATH": str(database), "EMBEDDING_PROVIDER": "local"}
