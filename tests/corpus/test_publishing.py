"""Real skills are published in a form that strict hosts accept, with the bytes of their entries: every third one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastmcp.skills._snapshot import parse_frontmatter
from tests.strict_skill import StrictSkill

from skillhub_mcp.publishing.entries import PublishedEntry, refresh_entry
from skillhub_mcp.publishing.normalization import PublishedDocument, published_document
from skillhub_mcp.publishing.uris import UriPath as Segments
from skillhub_mcp.publishing.uris import build_uri, skill_file, skill_paths
from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.roots import make_roots
from skillhub_mcp.skills.scanner import scan

pytestmark = pytest.mark.slow

Published = dict[Segments, tuple[Skill, bytes, PublishedDocument]]


@pytest.fixture(scope="module")
def skills(corpus: Path) -> dict[Segments, Skill]:
    snapshot = scan(make_roots([str(corpus)]), memory={}).snapshot
    paths = skill_paths(snapshot)
    assert len(paths) == len(snapshot.everything) > 1_000
    return dict(list(paths.items())[::3])


@pytest.fixture(scope="module")
def published(skills: dict[Segments, Skill]) -> Published:
    found: Published = {}
    for path, skill in skills.items():
        content = Path(skill.directory, "SKILL.md").read_bytes()
        document = published_document(content, path[-1])
        assert isinstance(document, PublishedDocument), (skill.directory, document)
        found[path] = (skill, content, document)
    return found


def test_strict_hosts_read_the_frontmatter_of_the_entry(published: Published) -> None:
    for skill, _, document in published.values():
        assert parse_frontmatter(document.content).root == document.frontmatter, skill.directory
        assert json.loads(json.dumps(document.frontmatter)) == document.frontmatter, skill.directory


def test_most_skills_are_published_byte_for_byte_and_all_bodies_are(published: Published) -> None:
    for skill, content, document in published.values():
        assert (document.content == content) == (not document.changes), skill.directory
        assert parse(document.content).body == parse(content).body, skill.directory
    untouched = sum(1 for _, _, document in published.values() if not document.changes)
    assert untouched / len(published) > 0.8


def test_strict_clients_accept_every_entry(skills: dict[Segments, Skill]) -> None:
    entries: dict[Segments, PublishedEntry] = {
        path: refresh_entry(skill.directory, path[-1], None, serve_dotfiles=False) for path, skill in skills.items()
    }
    withheld = {path: entry.withheld for path, entry in entries.items() if entry.withheld is not None}
    assert withheld == {}
    for path, entry in entries.items():
        files = [
            {"uri": build_uri((*path, *file.path.split("/"))), "digest": file.digest, "size": file.size}
            for file in entry.files
        ]
        published = {"uri": build_uri(skill_file(path)), "frontmatter": entry.frontmatter, "resources": files}
        StrictSkill.model_validate_json(json.dumps(published))
