"""Files in a root's `.skillhub` belong to no skill, and links there are not followed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.hubs import hub_of
from tests.library.roots import LOCK, install, prepared, write_skill
from tests.publishing.publishers import publishing

from skillhub_mcp.bootstrap.hub import library_to_publish
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.library.change import changing
from skillhub_mcp.library.removal import bring_back
from skillhub_mcp.policy.project_trust import project_digest
from skillhub_mcp.settings import read_settings
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.validation.targets import targets, targets_below


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return prepared(tmp_path)


@pytest.fixture
def cluttered(root: Path) -> Path:
    """A root with skills in the trash and in staging."""
    for text in ("two", "three"):
        with changing(os.fspath(root)) as one:
            install(one, {"replaced": text}, removals=["gone"])
    write_skill(root / ".skillhub" / "staging" / "hidden", "one")
    assert len(list((root / ".skillhub").rglob("SKILL.md"))) >= 3
    return root


@pytest.fixture
def environment(cluttered: Path) -> dict[str, str]:
    return {
        "SKILLS_DIR": str(cluttered),
        "EMBEDDING_PROVIDER": "none",
        "DB_PATH": str(cluttered.parent / "db"),
        "SKILLHUB_SERVE_DOTFILES": "1",
        "HOME": str(cluttered.parent),
    }


SKILLS = ["kept", "replaced"]


class TestOwnDirectory:
    def test_it_is_not_found_searched_or_listed(self, environment: dict[str, str]) -> None:
        with hub_of(environment) as hub:
            assert sorted(skill.name for skill in hub.skills()) == SKILLS
            assert {hit.skill.name for hit in hub.search("one two three hidden gone", limit=50).hits} <= set(SKILLS)
            assert sorted(Path(one.skill.directory).name for one in hub.listed()) == SKILLS
            assert hub.refresh().snapshot.report.refused == ()

    def test_it_is_not_audited_or_validated(self, cluttered: Path) -> None:
        for found in (targets([str(cluttered)]).found, targets_below(make_roots([str(cluttered)])).found):
            assert sorted(os.path.relpath(one.path, cluttered) for one in found) == [
                f"{one}/SKILL.md" for one in SKILLS
            ]

    def test_it_is_not_served_or_published(self, environment: dict[str, str]) -> None:
        with publishing(environment) as (publisher, hub):
            assert sorted(one.path[-1] for one in publisher.page().skills) == SKILLS
            library = library_to_publish(read_settings(environment)[0], hub)
            assert [one.skill.name for one in library.skills] == SKILLS

    def test_it_does_not_count_for_project_trust(self, cluttered: Path) -> None:
        root = replace(make_roots([str(cluttered)])[0], within=str(cluttered))
        before = project_digest(root)
        shutil.rmtree(cluttered / ".skillhub")
        assert project_digest(root) == before


def test_nothing_is_restored_from_a_linked_trash(root: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    write_skill(mine / "skills" / "precious", "mine")
    trash = root / ".skillhub" / "trash"
    (trash / "20260101T000000000000Z-00000000-removed").symlink_to(mine)
    (trash / "20270101T000000000000Z-00000000-removed").mkdir()
    (trash / "20270101T000000000000Z-00000000-removed" / "skills").symlink_to(mine / "skills")
    for names in ((), ("precious",)):
        with pytest.raises(InvalidArgument):
            bring_back(os.fspath(root), os.fspath(root / LOCK), names)
    assert (mine / "skills" / "precious" / "SKILL.md").exists()


def test_a_replica_writes_nothing_into_a_root(environment: dict[str, str], cluttered: Path) -> None:
    before = sorted(cluttered.rglob("*"))
    replica = {"SKILLHUB_READ_ONLY": "1", "SKILLHUB_MIRROR_DIR": str(cluttered.parent / "mirror")}
    with hub_of({**environment, **replica, "DB_PATH": str(cluttered.parent / "none")}):
        pass
    assert sorted(cluttered.rglob("*")) == before
