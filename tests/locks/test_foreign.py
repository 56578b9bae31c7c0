"""Where skills came from by the records of other programs."""

from __future__ import annotations

import json
import os

from skillhub_mcp.locks.foreign import Provenance, global_lock_path, parse_global_lock, provenance_of_metadata


def test_the_global_lock_of_npx_skills_tells_where_a_skill_came_from() -> None:
    entry = {
        "source": "o/r",
        "sourceType": "github",
        "sourceUrl": "https://github.com/o/r.git",
        "skillPath": "skills/pdf/SKILL.md",
        "skillFolderHash": "d" * 40,
        "installedAt": "2026-01-01T00:00:00.000Z",
    }
    text = json.dumps({"version": 3, "skills": {"pdf": entry, "odd": 1}, "dismissed": {}})
    found = Provenance("https://github.com/o/r.git", path="skills/pdf/SKILL.md", tree="d" * 40, by="npx skills")
    assert parse_global_lock(text) == {"pdf": found}


def test_what_cannot_be_read_or_is_older_tells_nothing() -> None:
    for text in ("", "[]", "{}", '{"version": 2, "skills": {"a": {"source": "x"}}}', '{"version": 3, "skills": []}'):
        assert parse_global_lock(text) == {}


def test_what_gh_skill_wrote_into_a_skill_tells_where_it_came_from() -> None:
    metadata = {
        "github-repo": "https://github.com/o/r",
        "github-ref": "refs/tags/v1",
        "github-path": "skills/pdf",
        "github-tree-sha": "e" * 40,
        "github-pinned": "v1",
    }
    assert provenance_of_metadata(metadata) == Provenance(
        "https://github.com/o/r", "refs/tags/v1", "skills/pdf", "e" * 40, by="gh skill"
    )
    assert provenance_of_metadata({"github-repo": 1}) is None


def test_the_global_lock_lies_where_npx_skills_keeps_it() -> None:
    assert global_lock_path({}) == os.path.join(os.path.expanduser("~"), ".agents", ".skill-lock.json")
    assert global_lock_path({"XDG_STATE_HOME": "/s"}) == os.path.join("/s", "skills", ".skill-lock.json")
