"""`skillhub doctor` with connected clients: what they would start is started."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.clients.probe import Probed
from skillhub_mcp.diagnosis import machine
from skillhub_mcp.version import version


@pytest.mark.slow
def test_each_client_entry_is_started_and_problems_reported_with_a_fix(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, tmp_path: Path
) -> None:
    write_skill("painter")
    home = tmp_path / "home"
    settings = {
        "SKILLS_DIR": str(skills_dir),
        "DB_PATH": str(tmp_path / "skills.lancedb"),
        "EMBEDDING_PROVIDER": "none",
    }
    well = {"command": sys.executable, "args": ["-m", "skillhub_mcp"], "env": settings}
    for path, content in {
        ".cursor/mcp.json": {"mcpServers": {"skillhub": well}},
        ".lmstudio/mcp.json": {"mcpServers": {"skillhub": {"command": "/gone/skillhub-mcp"}}},
    }.items():
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text(json.dumps(content), encoding="utf-8")
    (home / ".codeium" / "windsurf").mkdir(parents=True)
    report = skillhub("doctor", "--json", HOME=str(home), PATH="").json
    assert len(report["problems"]) == 1, report
    (problem,) = report["problems"]
    assert (problem["check"], problem["subject"]) == ("clients", str(home / ".lmstudio" / "mcp.json"))
    assert problem["message"] == "LM Studio's entry 'skillhub' does not answer: /gone/skillhub-mcp does not exist"
    assert problem["fix"] == "skillhub connect lm-studio"
    cursor, studio = report["connections"]
    assert (cursor["client"], cursor["answers"], cursor["version"]) == ("cursor", True, version())
    assert (studio["client"], studio["answers"]) == ("lm-studio", False)
    notes = {note["message"]: note["fix"] for note in report["notes"] if note["check"] == "clients"}
    assert notes == {"Windsurf is installed here and not connected": "skillhub connect windsurf"}


def test_a_misspelt_setting_of_an_entry_is_a_warning(
    skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("painter")
    monkeypatch.setattr(machine, "probe", lambda *_, **__: Probed("SkillHub", version(), ("search_skills",)))
    entry = {"command": "/opt/skillhub-mcp", "env": {"SKILLHUB_ENABLED_SKILL": "painter"}}
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"skillhub": entry}}), encoding="utf-8")
    (warning,) = skillhub("doctor", "--json", HOME=str(tmp_path), PATH="").json["warnings"]
    assert warning["subject"] == str(tmp_path / ".cursor" / "mcp.json")
    assert "sets SKILLHUB_ENABLED_SKILL, which is not a setting" in warning["message"]
    assert warning["message"].endswith("did you mean SKILLHUB_ENABLED_SKILLS?")
