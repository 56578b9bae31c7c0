"""A replica hands on the bytes that the library's own hub does, without any directory of skills."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from skillhub_mcp.storage.directory_store import DirectoryStore
from tests.conftest import SkillWriter
from tests.hubs import hub_of
from tests.replicas.publications import Publishing

from skillhub_mcp.errors import SkillFilesUnavailable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.publishing.handing_on import HandedOn, SkillGiver


def given(hub: SkillHub) -> list[tuple[HandedOn, bytes]]:
    giver = SkillGiver(hub, serve_dotfiles=False)
    return [(one, giver.artifact(giver.find(one.name)[1])) for one in giver.all()]


def test_every_replica_hands_on_the_same_bytes(
    hub_environment: dict[str, str], write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    walrus = write_skill("walrus", files={"notes/diet.md": "Herring.\r\n", "run.sh": "echo"})
    os.chmod(walrus / "run.sh", 0o755)
    write_skill("heron")
    publication = tmp_path / "publication"
    Publishing(DirectoryStore(str(publication)), [skills_dir]).publish()
    with hub_of(hub_environment) as hub:
        own = given(hub)
    shutil.rmtree(skills_dir)

    def replica(mirror: str) -> dict[str, str]:
        place = {"DB_PATH": str(publication), "SKILLHUB_MIRROR_DIR": str(tmp_path / mirror)}
        return {"SKILLHUB_READ_ONLY": "1", "EMBEDDING_PROVIDER": "none", "HOME": str(tmp_path), **place}

    for mirror in ("one", "two"):
        with hub_of(replica(mirror)) as hub:
            assert given(hub) == own
    # One that has no copy yet, and whose storage is gone, takes no skill away.
    with hub_of(replica("three")) as hub:
        assert len(hub.skills()) == 2
        shutil.rmtree(publication / "packs", ignore_errors=True)
        with pytest.raises(SkillFilesUnavailable):
            given(hub)
