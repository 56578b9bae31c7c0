"""The log of the library: what is refused, shadowed or missing is told once, and again when it changes."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from tests.conftest import SkillWriter, own_file
from tests.hubs import hub_of

from skillhub_mcp.bootstrap.observers import log_library
from skillhub_mcp.index.views import SyncDepth
from skillhub_mcp.policy.access_tokens import make_token
from skillhub_mcp.policy.files import change_tokens
from skillhub_mcp.policy.visibility import Visibility
from skillhub_mcp.settings import read_settings


def test_each_problem_is_told_once_and_again_when_it_changed(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    skills_dir: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "skillhub_mcp.library")
    second, missing = tmp_path / "second", tmp_path / "missing"
    winner = write_skill("same", "First.")
    loser = write_skill("same", "Second.", root=second)
    silent = write_skill("silent", frontmatter="name: silent\ndescription:")

    def told() -> list[str]:
        caplog.clear()
        hub.refresh(SyncDepth.VERIFY)
        return [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]

    environment = {**hub_environment, "SKILLS_DIR": f"{skills_dir}:{second}:{missing}"}
    with hub_of(environment) as hub:
        log_library(hub, read_settings(environment)[0])
        first = told()
        assert [line.split(";")[0] for line in first] == [
            f"{missing} does not exist",
            f"{silent}/SKILL.md:3 is refused: there is no description (description-missing)",
            f"{loser} lost the name 'same' to {winner}: the winner's root comes first",
        ]
        assert all("; " in line for line in first)
        assert told() == []
        # Something else is new: what was told before is not told again.
        broken = write_skill("broken", frontmatter="name: [")
        (only,) = told()
        assert only.startswith(f"{broken}/SKILL.md")
        # It went away and came back.
        write_skill("silent", "Speaks.")
        assert told() == []
        write_skill("silent", frontmatter="name: silent\ndescription:")
        assert [line.split(" is ")[0] for line in told()] == [f"{silent}/SKILL.md:3"]
        missing.mkdir()
        assert told() == []


def test_of_very_many_problems_the_first_are_told_and_the_rest_counted(
    hub_environment: dict[str, str], write_skill: SkillWriter, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        write_skill(f"silent-{number:02}", frontmatter=f"name: silent-{number:02}")
    with hub_of(hub_environment) as hub:
        log_library(hub, read_settings(hub_environment)[0])
        hub.refresh()
        hub.refresh(SyncDepth.VERIFY)
    lines = [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]
    assert (len(lines), lines[-1]) == (21, "10 more problems; `skillhub doctor` lists them")


def test_names_in_settings_rules_and_tokens_that_nothing_has_are_told_once(
    hub_environment: dict[str, str], write_skill: SkillWriter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill("alpha", category="docs")
    write_skill("beta")
    rules, tokens = own_file("permissions.json"), tmp_path / "tokens.json"
    rule = {"tool": "skill_load", "skill_name": "alhpa"}
    rules.write_text(json.dumps({"permissions": {"deny": [rule], "allow": [{"tool": "skill_load"}]}}), "utf-8")
    for name, visibility in (
        ("ci", Visibility(frozenset({"beta", "beat"}))),
        ("bot", Visibility(categories=frozenset({"dosc"}))),
        ("person", Visibility()),
    ):
        token, _ = make_token(name, visibility)
        change_tokens(str(tokens), lambda kept, token=token: kept.with_token(token))  # type: ignore[misc]
    environment = {
        **hub_environment,
        "SKILLHUB_ENABLED_CATEGORIES": "dcos",
        "SKILLHUB_TOKENS_FILE": str(tokens),
    }
    fix = "correct it, or add what is missing"
    forget = "`skillhub allow --forget NAME`"
    filtered = "categories that are not here: 'dcos' (did you mean 'docs'?); nothing is served until then: "
    granted = "categories that are not here: 'dosc' (did you mean 'docs'?); it grants nothing until then: "
    expected = [
        f"SKILLHUB_ENABLED_CATEGORIES names {filtered}{fix}",
        f"{rules} has rules for skills that are not here: 'alhpa' (did you mean 'alpha'?); correct them, or {forget}",
        f"the token 'ci' in {tokens} grants skills that are not here: 'beat' (did you mean 'beta'?); {fix}",
        f"the token 'bot' in {tokens} grants {granted}{fix}",
    ]
    with hub_of(environment) as hub:
        log_library(hub, read_settings(environment)[0])
        hub.refresh()
        write_skill("gamma")
        hub.refresh()
        told = [record.getMessage() for record in caplog.records if record.name == "skillhub_mcp.library"]
        assert told == expected
        rules.write_text("{", encoding="utf-8")
        write_skill("delta")
        # That it cannot be read is told where the rules are used.
        hub.refresh()
    assert len([record for record in caplog.records if record.name == "skillhub_mcp.library"]) == len(expected)


def test_what_is_here_and_not_searched_is_told_once_at_the_start(
    hub_environment: dict[str, str],
    write_skill: SkillWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "skillhub_mcp.library")
    monkeypatch.chdir(tmp_path)
    write_skill("served")
    write_skill("elsewhere", root=Path(hub_environment["HOME"], ".codex", "skills"))

    def told() -> list[tuple[str, str]]:
        caplog.clear()
        hub.refresh(SyncDepth.VERIFY)
        records = [record for record in caplog.records if record.name == "skillhub_mcp.library"]
        return [(record.levelname, record.getMessage().split(";")[0]) for record in records]

    with hub_of(hub_environment) as hub:
        log_library(hub, read_settings(hub_environment)[0])
        why = "SKILLS_DIR is set, and then nothing else is searched"
        assert told() == [("INFO", f"1 skill in ~/.codex/skills is not searched: {why}")]
        write_skill("another")
        assert told() == []
