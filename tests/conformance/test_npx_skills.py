"""`npx skills` installs from a hub and updates from it, and leaves in its lock what is the hub's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conformance.npx_skills import NpxSkills
from tests.conftest import SkillWriter, put_file
from tests.server.connections import listening

pytestmark = pytest.mark.conformance


@pytest.fixture
def npx(tmp_path: Path) -> NpxSkills:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return NpxSkills(tmp_path / "project", tmp_path / "home")


def test_skills_of_a_hub_are_installed_and_updated(
    npx: NpxSkills, hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"scripts/run.sh": b"echo\r\n", "assets/\u00fc.bin": b"\0\xff"}
    pdf, notes = write_skill("pdf", files=files), write_skill("notes")
    # Such a name exists, and none of theirs has a space.
    write_skill("My Skill", directory="wild", files={"a.md": "a"})
    with listening({**hub_environment, "SKILLHUB_WELL_KNOWN": "1"}) as address:
        url = address.removesuffix("/mcp")
        assert "pdf" in npx.run("add", url, "--list")
        npx.run("add", url, "-y", "--agent", "universal")
        assert npx.installed("pdf") == {**files, "SKILL.md": (pdf / "SKILL.md").read_bytes()}
        assert npx.installed("notes") == {"SKILL.md": (notes / "SKILL.md").read_bytes()}
        assert npx.installed("my-skill").keys() == {"SKILL.md", "a.md"}
        before = npx.locked
        assert {entry["sourceUrl"] for entry in before.values()} == {url}
        npx.run("update", "-p", "-y")
        assert npx.locked == before
        put_file(pdf / "scripts" / "run.sh", "echo two\n")
        said = npx.run("update", "-p", "-y")
        assert "Updated 1 skill(s)" in said
        assert npx.installed("pdf")["scripts/run.sh"] == b"echo two\n"
    after = npx.locked
    assert after["notes"] == before["notes"]
    assert after["pdf"]["wellKnownDigest"] != before["pdf"]["wellKnownDigest"]


def test_it_keeps_what_the_hub_adds_to_the_entries_of_the_lock(
    npx: NpxSkills, write_skill: SkillWriter, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    for name in ("one", "two", "three"):
        write_skill(name, root=source / "skills")
    npx.run("add", str(source), "--skill", "one", "--skill", "two", "-y", "--agent", "universal")
    lock = json.loads(npx.lock_path.read_text(encoding="utf-8"))
    ours = {"digest": "sha256:" + "0" * 64, "executable": [], "fetched": "2026-01-01T00:00:00Z"}
    lock["skills"]["one"]["skillhub"] = ours
    npx.lock_path.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
    npx.run("add", str(source), "--skill", "three", "-y", "--agent", "universal")
    npx.run("remove", "two", "-y")
    assert npx.locked.keys() == {"one", "three"}
    assert npx.locked["one"]["skillhub"] == ours
