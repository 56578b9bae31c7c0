"""One library of all payloads, for the tests of every surface."""

from __future__ import annotations

import os

import pytest
from tests.surfaces.library import plant


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a hub with every payload in every text of a skill, over all sets of tools."""
    place = tmp_path_factory.mktemp("surfaces")
    root, project = place / "skills", place / "project"
    (project / ".git").mkdir(parents=True)
    plant(root, project)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "SKILLS_DIR": str(root),
        "DB_PATH": str(place / "db" / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
        "SKILLHUB_CWD": str(project),
        "SKILLHUB_TOOLS": "core,registry,agents,context,skill",
        "SKILLHUB_ENABLE_RUN": "1",
        "SKILLHUB_SANDBOX": "off",
        "SKILLHUB_TRUST": "all",
    }
