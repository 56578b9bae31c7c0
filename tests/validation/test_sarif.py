"""SARIF 2.1.0: the log has what code hosts require, with relative and encoded locations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillhub_mcp.cli.commands.validate import BOOK
from skillhub_mcp.skills.rules import RULES, Diagnostic, Severity
from skillhub_mcp.validation.checker import ValidationResult
from skillhub_mcp.validation.sarif import sarif as sarif_of

ERROR = Diagnostic("key-unknown", Severity.ERROR, "'x' is not a specified key", "move it under metadata", 4)
NOTE = Diagnostic("file-unreferenced", Severity.NOTE, "nothing mentions 'a b'", "say when to read it")


def sarif(results: list[ValidationResult], *, base: str) -> dict[str, Any]:
    return sarif_of(results, BOOK.rules, command="validate", about="https://agentskills.io", base=base)


def runs(log: dict[str, Any]) -> list[Any]:
    return list(log["runs"])


def test_a_log_has_version_tool_rules_and_results(tmp_path: Path) -> None:
    path = str(tmp_path / "my skills" / "größe" / "SKILL.md")
    log = sarif([ValidationResult(path, "one", (ERROR, NOTE))], base=str(tmp_path))
    assert (log["version"], str(log["$schema"]).endswith("sarif-2.1.0.json")) == ("2.1.0", True)
    (run,) = runs(log)
    driver = run["tool"]["driver"]
    assert driver["name"] == "skillhub"
    assert [rule["id"] for rule in driver["rules"]] == ["file-unreferenced", "key-unknown"]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] == RULES[rule["id"]].requirement
        assert rule["help"]["text"] == RULES[rule["id"]].fix
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("key-unknown", 1, "error")
    assert first["message"]["text"] == f"'x' is not a specified key; {RULES['key-unknown'].fix}"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20skills/gr%C3%B6%C3%9Fe/SKILL.md", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 4}
    assert (second["level"], second["locations"][0]["physicalLocation"]["region"]) == ("note", {"startLine": 1})
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"


def test_a_file_outside_the_base_has_an_absolute_uri(tmp_path: Path) -> None:
    base = tmp_path / "project"
    log = sarif([ValidationResult(str(tmp_path / "other" / "SKILL.md"), "one", (NOTE,))], base=str(base))
    place = runs(log)[0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": (tmp_path / "other" / "SKILL.md").as_uri()}


def test_an_undecodable_file_name_is_percent_encoded(tmp_path: Path) -> None:
    log = sarif([ValidationResult(str(tmp_path / "\udcff.sh"), "one", (NOTE,))], base=str(tmp_path))
    place = runs(log)[0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "%FF.sh"


def test_a_log_without_findings_has_no_results(tmp_path: Path) -> None:
    (run,) = runs(sarif([ValidationResult("x", "one", ())], base=str(tmp_path)))
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
