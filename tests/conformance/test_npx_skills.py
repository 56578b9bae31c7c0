"""`npx skills` installs and updates from a hub, and shares a lock file with it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests import installs
from tests.conftest import SkillWriter, put_file
from tests.server.connections import listening

from skillhub_mcp.cli.main import run
from skillhub_mcp.locks.file_digests import computed_hash
from skillhub_mcp.locks.lock_file import LockedByHub, lock_text, parse_lock

pytestmark = pytest.mark.conformance


@dataclass(frozen=True, slots=True)
class NpxSkills:
    """`npx skills` in a project, with its own home directory and without telemetry."""

    project: Path
    home: Path

    def run(self, *arguments: str) -> str:
        """Run a command that succeeds and return its output. Skips the test if the program cannot be installed."""
        modules = installs.npm_packages(Path(__file__).with_name("package.json"))
        node = installs.node()
        environment = {
            "HOME": str(self.home),
            # It starts itself again for an update.
            "PATH": os.pathsep.join((str(node.parent), os.environ["PATH"])),
            "DO_NOT_TRACK": "1",
            "DISABLE_TELEMETRY": "1",
        }
        command = [str(node), str(modules / "skills" / "bin" / "cli.mjs"), *arguments]
        return installs.output_of(command, environment, cwd=self.project)

    @property
    def lock_path(self) -> Path:
        """The project's lock."""
        return self.project / "skills-lock.json"

    @property
    def locked(self) -> dict[str, Any]:
        """The entries of the project's lock, by name."""
        lock = json.loads(self.lock_path.read_text(encoding="utf-8"))
        assert lock["version"] == 1
        entries: dict[str, Any] = lock["skills"]
        return entries

    def installed(self, name: str) -> dict[str, bytes]:
        """The files of an installed skill, by path."""
        directory = self.project / ".agents" / "skills" / name
        return {
            path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
        }


@pytest.fixture
def npx(tmp_path: Path) -> NpxSkills:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return NpxSkills(tmp_path / "project", tmp_path / "home")


def test_npx_skills_installs_and_updates_from_a_hub(
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
        assert "Updated 1 skill(s)" in npx.run("update", "-p", "-y")
        assert npx.installed("pdf")["scripts/run.sh"] == b"echo two\n"
    after = npx.locked
    assert after["notes"] == before["notes"]
    assert after["pdf"]["wellKnownDigest"] != before["pdf"]["wellKnownDigest"]


def test_both_programs_write_the_same_lock(npx: NpxSkills, write_skill: SkillWriter, tmp_path: Path) -> None:
    source = tmp_path / "source"
    # Names in an order that is neither that of bytes nor that of letters alone.
    names = ("B.md", "a.md", "a-b.md", "a_b.md", "ab/c.md", "ab.md", "README", ".hidden", "10.md", "9.md", "x+y (1).md")
    write_skill("one", root=source / "skills", files={name: name for name in names})
    for name in ("two", "three", "10"):
        write_skill(name, root=source / "skills", frontmatter=f'name: "{name}"\ndescription: Does one thing.')
    npx.run("add", str(source), "--skill", "one", "two", "10", "-y", "--agent", "universal")
    text = npx.lock_path.read_text(encoding="utf-8")
    lock = parse_lock(text, str(npx.lock_path))
    assert lock_text(lock) == text
    assert [one.name for one in lock.skills] == ["10", "one", "two"]
    for one in lock.skills:
        assert one.computed_hash == computed_hash(str(npx.project / ".agents" / "skills" / one.name))
    # What the hub adds stays, whatever the other program does beside it.
    ours = LockedByHub("sha256:" + "0" * 64, executable=("a.md",), fetched="2026-11-22T22:40:00Z")
    one = next(one for one in lock.skills if one.name == "one")
    npx.lock_path.write_text(lock_text(lock.having(replace(one, ours=ours))), encoding="utf-8", newline="\n")
    npx.run("add", str(source), "--skill", "three", "-y", "--agent", "universal")
    npx.run("remove", "two", "-y")
    text = npx.lock_path.read_text(encoding="utf-8")
    lock = parse_lock(text, str(npx.lock_path))
    assert lock_text(lock) == text
    assert {skill.name: skill.ours for skill in lock.skills} == {"10": None, "one": ours, "three": None}


def test_each_program_updates_what_the_other_installed(
    npx: NpxSkills, hub_environment: dict[str, str], write_skill: SkillWriter
) -> None:
    one, two = write_skill("one", files={"a.md": "a"}), write_skill("two")
    with listening({**hub_environment, "SKILLHUB_WELL_KNOWN": "1"}) as address:
        url = address.removesuffix("/mcp")
        place = ["--project", "--cwd", str(npx.project)]
        (npx.project / ".git").mkdir()
        assert run(["add", url, "--skill", "one", "--yes", *place]) == 0
        npx.run("add", url, "--skill", "two", "-y", "--agent", "universal")
        assert npx.locked.keys() == {"one", "two"}
        put_file(one / "a.md", "changed by one\n")
        assert "Updated 1 skill(s)" in npx.run("update", "one", "-p", "-y")
        assert npx.installed("one")["a.md"] == b"changed by one\n"
        put_file(two / "SKILL.md", "---\nname: two\ndescription: Another.\n---\nText.\n")
        assert run(["update", "two", "--yes", *place]) == 0
    assert npx.installed("two") == {"SKILL.md": (two / "SKILL.md").read_bytes()}
