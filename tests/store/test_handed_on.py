"""A replica publishes the same bytes as the library's own hub, without a skills directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.store.publications import Library, replica

from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.artifacts import Artifact, ArtifactService
from skillhub_mcp.store.tables import Target


def given(hub: SkillHub) -> list[tuple[Artifact, bytes]]:
    giver = ArtifactService(hub, serve_dotfiles=False)
    return [(one, giver.artifact(giver.find(one.name)[1])) for one in giver.all()]


def test_every_replica_publishes_the_same_bytes(
    library: Library, directory: Target, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    walrus = write_skill("walrus", files={"notes/diet.md": "Herring.\r\n", "run.sh": "echo"})
    os.chmod(walrus / "run.sh", 0o755)
    write_skill("heron")
    library.publish(directory)
    with hub_of(library.environment) as hub:
        own = given(hub)
    shutil.rmtree(skills_dir)
    for place in ("one", "two"):
        with replica(directory, tmp_path / place) as hub:
            assert given(hub) == own
