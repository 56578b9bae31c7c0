"""The example skills pass validation, and their scripts do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.hubs import hub_of
from tests.library.sources.repositories import needs_git

SKILLS = Path(__file__).parents[2] / "examples" / "skills"
NAMES = sorted(path.parent.name for path in SKILLS.glob("*/SKILL.md"))


def taken_apart(name: str) -> tuple[dict[str, Any], str]:
    _, header, body = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    frontmatter: dict[str, Any] = yaml.safe_load(header)
    return frontmatter, body


def scripts(name: str) -> list[Path]:
    return sorted((SKILLS / name).glob("scripts/*.py"))


def kind(name: str) -> str:
    if not scripts(name):
        return "prompt-only"
    named = any("# /// script" in path.read_text(encoding="utf-8") for path in scripts(name))
    return "dependency" if named else "native"


@pytest.mark.parametrize("name", NAMES)
def test_an_example_names_exactly_its_files(name: str) -> None:
    _, body = taken_apart(name)
    named = set(re.findall(r"(?:references|templates|scripts)/[\w.-]+\.\w+", body))
    there = {
        path.relative_to(SKILLS / name).as_posix()
        for folder in ("references", "templates", "scripts")
        for path in (SKILLS / name / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert named == there


def test_the_hub_has_no_diagnostics_for_the_examples(hub_environment: dict[str, str]) -> None:
    with hub_of({**hub_environment, "SKILLS_DIR": str(SKILLS)}) as hub:
        skills = hub.skills()
    assert [skill.name for skill in skills] == NAMES
    assert [(skill.name, skill.diagnostics) for skill in skills if skill.diagnostics] == []


@pytest.mark.slow
@pytest.mark.acceptance("S2-44")
def test_all_three_kinds_are_found_loaded_and_read(hub_environment: dict[str, str]) -> None:
    by_kind: dict[str, list[str]] = {}
    for name in NAMES:
        by_kind.setdefault(kind(name), []).append(name)
    assert set(by_kind) == {"prompt-only", "native", "dependency"}
    assert all(len(names) >= 2 for names in by_kind.values())
    with hub_of({**hub_environment, "SKILLS_DIR": str(SKILLS), "SKILLHUB_ENABLE_RUN": "1"}) as hub:
        for names in by_kind.values():
            name = names[0]
            assert hub.search(name.replace("-", " ")).hits[0].skill.name == name
            assert hub.load(name).instructions
            assert hub.read_file(name, "SKILL.md").content.startswith("---\n")
        native = by_kind["native"][0]
        script = scripts(native)[0].relative_to(SKILLS / native).as_posix()
        result = hub.run_command(native, "python", [script, "--help"])
    assert result.exit_code == 0, result.stderr


def test_at_least_twelve_examples_in_several_categories_and_languages() -> None:
    assert len(NAMES) >= 12
    assert len({taken_apart(name)[0]["metadata"]["skillhub.category"] for name in NAMES}) >= 5
    assert [name for name in NAMES if re.search(r"[\u3040-\u30ff]", taken_apart(name)[1])]
    assert len([name for name in NAMES if re.search(r"[\u4e00-\u9fff]{5}", taken_apart(name)[1])]) >= 2
    core = [name for name in NAMES if taken_apart(name)[0]["metadata"].get("skillhub.alwaysApply") == "true"]
    assert core == ["git-commit-messages"]


SCRIPTS = [path for name in NAMES for path in scripts(name)]


def run_script(script: str | Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script of the example skills, by its path below their directory."""
    return subprocess.run(
        [sys.executable, str(SKILLS / script), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"},
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.parent.name)
def test_every_script_has_help_and_refuses_unreadable_input(script: Path) -> None:
    helped = run_script(script, "--help")
    assert helped.returncode == 0
    assert "usage:" in helped.stdout
    wrong = run_script(script, "--no-such-option")
    assert wrong.returncode != 0
    assert "Traceback" not in wrong.stderr


def output(script: str, *arguments: str, stdin: str = "") -> str:
    done = run_script(script, *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_csv_profiler_finds_broken_rows_codes_and_gaps() -> None:
    found = json.loads(output("csv-profiler/scripts/profile.py", "-", "--json", stdin="id;n\n001;5\n002;\n002;7;9\n"))
    assert (found["delimiter"], found["rows"], found["broken_rows"]) == (";", 3, [{"line": 4, "fields": 3}])
    code, number = found["profile"]
    assert (code["kinds"], code["unique"]) == ({"text": 3}, False)
    assert (number["kinds"], number["missing"], number["range"]) == ({"number": 2}, 1, [5.0, 7.0])


def test_log_triage_groups_lines_that_differ_in_numbers_only() -> None:
    log = "2024-01-01T10:00:00Z ERROR user 17 at 10.0.0.1\n2024-01-01T10:00:09Z ERROR user 18 at 10.0.0.2\nINFO ok\n"
    (only,) = json.loads(output("log-triage/scripts/group.py", "-", "--only", "ERROR", "--json", stdin=log))
    assert (only["count"], only["first_line"], only["last_time"]) == (2, 1, "2024-01-01T10:00:09")


def test_json_schema_from_samples_keeps_what_all_samples_share() -> None:
    samples = '{"a": 1, "b": null}\n{"a": 2.5}\n'
    schema = json.loads(output("json-schema-from-samples/scripts/derive.py", "-", stdin=samples))
    assert schema["required"] == ["a"]
    assert schema["properties"] == {"a": {"type": "number"}, "b": {"type": "null"}}


def test_markdown_table_tools_convert_both_ways() -> None:
    csv = "name,n\n議事録,9\na|b,10\n"
    script = "markdown-table-tools/scripts/table.py"
    table = output(script, "from-csv", "-", stdin=csv)
    assert "| a\\|b   | 10  |" in table
    assert output(script, "to-csv", "-", stdin=table) == csv
    ordered = output(script, "sort", "-", "--column", "2", "--descending", stdin=table)
    assert ordered.index("a\\|b") < ordered.index("議事録")


@needs_git
def test_release_notes_groups_the_commits_of_a_repository(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for subject in ("start", "feat: search by tag (#12)", "fix: empty query"):
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", subject], check=True)
    script = "release-notes/scripts/collect.py"
    commits = json.loads(output(script, "HEAD~2..HEAD", "--repo", str(tmp_path), "--json"))
    found = [(commit["kind"], commit["subject"], commit["references"]) for commit in commits]
    assert found == [("fixed", "empty query", []), ("added", "search by tag (#12)", ["#12"])]
