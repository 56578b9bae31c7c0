"""The Python examples run as they are, and print what they should."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    reported = run("registry.py", cwd=tmp_path)
    skills = sorted(path.parent.name for path in (PROJECT / "examples" / "skills").glob("*/SKILL.md"))
    assert reported.startswith("Available Skills:\n")
    assert re.findall(r"^- name=(\S+) \| source=hub \| description=\S", reported, re.MULTILINE) == skills
    assert f"\n{len(skills)} found, {len(skills)} valid, in " in reported
    assert "\nunchanged\n" in reported
    assert reported.splitlines()[-1] == f"# Skill: {skills[0]}"


def test_the_hub_example_finds_loads_and_reads_a_skill(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, as the guide's code below: both need LanceDB, which takes a second to import."""
    monkeypatch.setattr(sys, "argv", ["hub.py"])
    runpy.run_path(str(PROJECT / "examples" / "python" / "hub.py"), run_name="__main__")
    reported = capsys.readouterr().out.splitlines()
    assert reported[0].startswith("0.99 pdf-invoice-extractor: Extract the invoice number")
    assert reported[-3] == "# Extract an invoice's number and key fields from a PDF"
    assert "references/field-labels.md" in reported[-2].split(", ")


@pytest.mark.parametrize("path", sorted((PROJECT / "examples" / "frameworks").glob("*.py")), ids=lambda path: path.stem)
def test_an_agent_framework_gets_the_same_skills(path: Path) -> None:
    # With SKILLS_DIR those of the project and of the person would be missing.
    assert "SKILLS_DIR" not in path.read_text(encoding="utf-8")


@pytest.mark.acceptance("S1-40")
def test_the_agents_example_prints_each_rule_once(tmp_path: Path) -> None:
    repo = tmp_path.resolve() / "repo"
    (repo / "docs").mkdir(parents=True)
    (repo / ".git").mkdir()
    (repo / "AGENTS.md").write_text("Use tabs.\n", encoding="utf-8")
    (repo / "docs" / "AGENTS.md").write_text("Be brief.\n", encoding="utf-8")
    reported = run("agents.py", cwd=repo)
    assert reported.startswith(
        f'<agents_context scope="initial">\nInstructions from: {repo}/AGENTS.md\nUse tabs.\n</agents'
    )
    assert reported.count(f"- {repo}/docs/AGENTS.md (mtime: ") == 1
    assert reported.endswith("</system-reminder>\nnothing more applies\nnothing has changed\n")


def test_the_python_guide_names_every_entry_point() -> None:
    import skillhub_mcp

    text = (PROJECT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    begun_with = {name for name in skillhub_mcp.__all__ if name[0].islower()}
    assert begun_with | {"Registry", "SkillLoader", "AgentsResolver", "Budget", "SkillHubError"} <= named


def test_the_code_of_the_guide_to_python_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (PROJECT / "docs" / "guides" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(PROJECT / "examples")
    monkeypatch.setenv("DB_PATH", str(tmp_path / "index"))
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["found"].score > 0
    assert names["answer"].hits[0].handle == "pdf-invoice-extractor"
