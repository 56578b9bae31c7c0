"""`skillhub catalogue` and `skillhub inspect`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.disclosure.token_estimate import estimate_tokens


@pytest.mark.acceptance("S4-1")
def test_every_format_is_printed_and_the_hidden_and_the_switched_off_are_in_none(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("shown", "Is shown.")
    write_skill("hidden", "Is hidden.", extra="disable-model-invocation: true")
    write_skill("gone", "Is off.")
    assert skillhub("disable", "gone").code == 0
    assert skillhub("catalogue", "--format", "descriptions").out == "- shown: Is shown.\n"
    for name in ("specification", "registry", "json"):
        out = skillhub("catalogue", "--format", name).out
        assert "Is shown." in out
        assert "Is hidden." not in out
        assert "Is off." not in out


def test_an_empty_catalogue_says_on_stderr_why_it_is_empty(skillhub: Skillhub, tmp_path: Path) -> None:
    for command in (["catalogue"], ["catalogue", "--json"], ["inspect"]):
        done = skillhub(*command, SKILLS_DIR=str(tmp_path / "nowhere"))
        assert done.code == 0
        assert (
            done.err
            == f"No skills:\n  {tmp_path}/nowhere\n      does not exist\n      → create it, or correct SKILLS_DIR\n"
        )


@pytest.mark.acceptance("S0-37", "S0-41", "S0-42", "S0-43", "S0-46")
def test_the_seeds_catalogue_has_the_projects_skills_alone_and_keeps_its_bounds(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLHUB_TRUST", "all")
    write_skill("elsewhere", "Not in .agents/skills.")
    whole = skillhub("catalogue", "--format", "codelia", "--cwd", project).out
    assert whole.count("<skill>") == 1
    assert "<scope>repo</scope>" in whole
    for number in range(30):
        write_skill(f"more-{number:02}", "Word " * 50, root=project / ".agents" / "skills")
    for option, most, measured in (("entries", 5, "skills"), ("bytes", 3_000, "bytes"), ("tokens", 400, "tokens")):
        arguments = (f"--max-{option}", str(most))
        done = skillhub("catalogue", "--format", "codelia", "--cwd", project, "--json", *arguments).json
        assert done["truncated"] is True
        assert 'truncated="true"' in done["text"]
        assert "call skill_search" in done["text"]
        assert most * 2 // 3 < done[measured] <= most
        assert done["bytes"] == len(done["text"].encode())
        assert done["tokens"] == estimate_tokens(done["text"])
        assert done["skills"] + done["left_out"] == 31
    set_bytes = skillhub("catalogue", "--format", "codelia", "--cwd", project, SKILLHUB_CATALOGUE_MAX_BYTES="2000").out
    assert 1_500 < len(set_bytes.rstrip("\n").encode()) <= 2_000
    assert 'truncated="true"' in set_bytes
    set_entries = skillhub("catalogue", "--format", "codelia", "--cwd", project, SKILLHUB_CATALOGUE_MAX_ENTRIES="3").out
    assert set_entries.count("<skill>") == 3
    empty = skillhub("catalogue", "--format", "codelia", "--cwd", project.parent)
    assert (empty.code, empty.out) == (0, "")


@pytest.mark.parametrize("form", ["specification", "codelia", "registry", "descriptions", "json"])
def test_a_catalogue_leaves_out_untrusted_skills_and_says_so_on_stderr(
    skillhub: Skillhub, project: Path, form: str
) -> None:
    arguments = ("catalogue", "--format", form, "--cwd", project)
    done = skillhub(*arguments, SKILLHUB_ROOTS="project")
    assert "repo-review" not in done.out
    assert done.err == "Not listed: 1 skill of a project that awaits trust (`skillhub trust`)\n"
    trusted = skillhub(*arguments, SKILLHUB_ROOTS="project", SKILLHUB_TRUST="all")
    assert "repo-review" in trusted.out
    assert trusted.err == ""


def test_a_budget_that_holds_nothing_says_so_and_one_that_is_none_is_refused(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    write_skill("one")
    done = skillhub("catalogue", "--max-bytes", "5")
    assert (done.code, done.out, done.err) == (0, "", "The budget is too small to list any of 1 skills\n")
    done = skillhub("catalogue", "--max-bytes", "0", "--json")
    assert (done.code, done.error["message"]) == (2, "--max-bytes must be at least 1")


@pytest.mark.acceptance("S4-2", "S0-78")
def test_inspect_says_what_each_layer_costs(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    body = "# How\n\n" + "Do it well. " * 200
    write_skill("pdf", "Reads PDFs.", body=body, files={"a.md": "text " * 100, "b.bin": b"\x89PNG\x00\xff"})
    done = skillhub("inspect", "pdf", "--json").json
    (skill,) = done["loaded"]
    assert skill["catalogue_tokens"] == estimate_tokens("- pdf: Reads PDFs.") < 100
    assert skill["tokens"] == estimate_tokens(body)
    assert [(file["path"], file["tokens"]) for file in skill["files"]] == [("a.md", 125), ("b.bin", None)]
    listed = skillhub("catalogue", "--format", "descriptions", "--json").json
    assert done["catalogue"]["descriptions"]["tokens"] == listed["tokens"]
    out = skillhub("inspect", "pdf").out
    assert "1 skill; estimated cost of a catalogue:" in out
    assert "its instructions" in out
    assert skillhub("inspect", "pfd").code == 1


def test_inspect_counts_in_each_format_the_skills_that_its_catalogue_has(
    skillhub: Skillhub, write_skill: SkillWriter, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLHUB_TRUST", "all")
    for number in range(20):
        write_skill(f"elsewhere-{number}", "Not in .agents/skills.")
    inspected = skillhub("inspect", "--json", "--cwd", project).json["catalogue"]
    for name, cost in inspected.items():
        listed = skillhub("catalogue", "--format", name, "--json", "--cwd", project).json
        assert (cost["skills"], cost["tokens"]) == (listed["skills"], listed["tokens"])
    assert inspected["codelia"]["skills"] == 1
    assert "tokens  as codelia, of 1 skill in .agents/skills\n" in skillhub("inspect", "--cwd", project).out
    # Without the set there is no catalogue of it.
    assert "codelia" not in skillhub("inspect", "--json", SKILLHUB_SKILLS_ENABLED="0").json["catalogue"]


def test_one_skill_too_many_costs_no_description(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    for number in range(170):
        write_skill(f"skill-{number:03}", f"Does thing {number:03}. " + "Use when one is due. " * 9)
    arguments = ["catalogue", "--format", "descriptions", "--json", "--max-bytes"]
    done = skillhub(*arguments, "12700").json
    assert (done["shortened"], 1 <= done["left_out"] < 10) == (done["skills"], True)
    assert done["skills"] + done["left_out"] == 170
    lines = [line for line in done["text"].splitlines() if line.startswith("- skill-")]
    assert all(len(line.partition(": ")[2]) >= 59 for line in lines)
    assert f"({done['left_out']} more skills are not listed and {done['skills']} descriptions are" in done["text"]
    assert skillhub(*arguments, "14000").json["left_out"] == 0
