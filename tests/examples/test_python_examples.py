"""The Python examples run as they are, and print what they should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def run(script: str, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(PROJECT / "examples" / "python" / script), *arguments],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=cwd,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.acceptance("S3-5", "S4-17")
def test_the_registry_example_runs_over_the_example_skills(tmp_path: Path) -> None:
    told = run("registry.py", cwd=tmp_path)
    skills = sorted(path.parent.name for path in (PROJECT / "examples" / "skills").glob("*/SKILL.md"))
    assert told.startswith("Available Skills:\n")
    assert re.findall(r"^- name=(\S+) \| source=hub \| description=\S", told, re.MULTILINE) == skills
    assert f"\n{len(skills)} found, {len(skills)} valid, in " in told
    assert "\nunchanged\n" in told
    assert told.splitlines()[-1] == f"# Skill: {skills[0]}"


@pytest.mark.acceptance("S1-40")
def test_the_agents_example_says_what_applies_once(tmp_path: Path) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / "docs").mkdir(parents=True)
    (repo / ".git").mkdir()
    (repo / "AGENTS.md").write_text("Use tabs.\n", encoding="utf-8")
    (repo / "docs" / "AGENTS.md").write_text("Be brief.\n", encoding="utf-8")
    told = run("agents.py", cwd=repo)
    assert told.startswith(
        f'<agents_context scope="initial">\nInstructions from: {repo}/AGENTS.md\nUse tabs.\n</agents'
    )
    assert told.count(f"- {repo}/docs/AGENTS.md (mtime: ") == 1
    assert told.endswith("</system-reminder>\nnothing more applies\nnothing has changed\n")


def test_the_guides_python_uses_public_names_alone() -> None:
    import skillhub_mcp

    guide = (PROJECT / "docs" / "guides" / "registry.md").read_text(encoding="utf-8")
    (imported,) = re.findall(r"^from skillhub_mcp import (.+)$", guide, re.MULTILINE)
    assert set(imported.split(", ")) <= set(skillhub_mcp.__all__)
