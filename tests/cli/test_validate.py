"""`skillhub validate`: its output in every format, its exit code, and what --fix writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Skillhub
from tests.conftest import SkillWriter

from skillhub_mcp.cli.main import run
from skillhub_mcp.skills.rules import RULES


def test_without_a_path_the_roots_are_checked(skillhub: Skillhub, write_skill: SkillWriter, tmp_path: Path) -> None:
    missing = skillhub("validate", SKILLS_DIR=str(tmp_path / "nowhere"))
    assert missing.code == 1
    assert "file-missing  does not exist; create it, or correct SKILLS_DIR\n" in missing.out
    write_skill("one", extra="homepage: x")
    assert skillhub("validate").out.startswith("SKILL.md") is False
    assert "key-unknown" in skillhub("validate").out


@pytest.mark.acceptance("S2-56")
def test_a_violation_is_printed_with_its_place_and_fix(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    directory = write_skill("one", extra="homepage: x")
    done = skillhub("validate", str(directory))
    assert (done.code, done.err) == (1, "--fix may repair key-unknown; it shows the changes first\n")
    assert done.out == (
        f"{directory}/SKILL.md\n"
        "  4 error   key-unknown  'homepage' is not a specified key\n"
        "\n"
        "1 error   key-unknown  move it under metadata, unless a host of yours reads it where it is; the specification "
        "has name, description, license, compatibility, metadata and allowed-tools\n"
        "\n"
        "1 skill: 0 valid, 1 invalid; 1 error, 0 warnings, 0 notes\n"
    )


def test_paths_are_relative_to_the_working_directory(
    skillhub: Skillhub, write_skill: SkillWriter, skills_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_skill("one", extra="homepage: x")
    monkeypatch.chdir(skills_dir)
    for path in (".", "one", "one/SKILL.md", str(skills_dir)):
        assert skillhub("validate", path).out.startswith("one/SKILL.md\n  4 error"), path
    # What programs read stays as it was.
    assert skillhub("validate", ".", "--json").json["skills"][0]["path"] == f"{skills_dir.resolve()}/one/SKILL.md"


@pytest.fixture
def many(write_skill: SkillWriter, skills_dir: Path) -> Path:
    for number in range(60):
        write_skill(f"skill-{number}", "Paints walls.", extra="model: opus\nhomepage: x\nruntime: node")
    return skills_dir


def test_many_findings_fit_a_screen_unless_full(skillhub: Skillhub, many: Path) -> None:
    done = skillhub("validate", str(many))
    lines = done.out.splitlines()
    assert len(lines) < 40
    assert "more files: --full" in done.out
    assert lines[-1] == "60 skills: 0 valid, 60 invalid; 180 errors, 0 warnings, 60 notes"
    assert [line.split()[:3] for line in lines[-5:-2]] == [
        ["120", "error", "key-unknown"],
        ["60", "error", "key-extension"],
        ["60", "note", "description-when"],
    ]
    small = skillhub("validate", str(many), LINES="24", COLUMNS="200").out.splitlines()
    assert len(small) < 24
    full = skillhub("validate", str(many), "--full").out
    assert full.count("SKILL.md\n") == 60
    assert full.count("key-extension") == 61


def test_rules_can_be_selected_and_ignored_in_every_format(skillhub: Skillhub, write_skill: SkillWriter) -> None:
    directory = str(write_skill("one", "Paints walls.", extra="homepage: x\nmodel: opus"))

    def rules(*options: str) -> list[str]:
        (skill,) = skillhub("validate", directory, "--json", *options).json["skills"]
        return [finding["rule"] for finding in skill["findings"]]

    assert rules() == ["key-unknown", "key-extension", "description-when"]
    assert rules("--select", "key") == ["key-unknown", "key-extension"]
    assert rules("--ignore", "key-extension,description-when") == ["key-unknown"]
    assert rules("--select", "key", "--ignore", "key-unknown") == ["key-extension"]
    sarif = skillhub("validate", directory, "--sarif", "--select", "key-extension").json
    assert [one["ruleId"] for one in sarif["runs"][0]["results"]] == ["key-extension"]
    assert "key-unknown" not in skillhub("validate", directory, "--ignore", "key-unknown").out
    # What is ignored fails nothing, and is not fixed.
    assert skillhub("validate", directory, "--ignore", "key").code == 0
    assert "nothing can be fixed safely" in skillhub("validate", directory, "--fix", "--ignore", "key-unknown").out
    wrong = skillhub("validate", directory, "--select", "key-unknwon")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "error: --select names no rule: 'key-unknwon'\n\nhint: did you mean 'key-unknown'?\n"


@pytest.mark.parametrize(("least", "code"), [("error", 0), ("warning", 0), ("note", 1)])
def test_fail_on_and_no_advice_decide_the_exit_code(
    skillhub: Skillhub, write_skill: SkillWriter, least: str, code: int
) -> None:
    directory = write_skill("one", "Paints walls.")
    assert skillhub("validate", str(directory), "--fail-on", least).code == code
    assert skillhub("validate", str(directory), "--fail-on", least, "--no-advice").code == 0


def test_rules_are_listed_with_their_fixes(skillhub: Skillhub) -> None:
    done = skillhub("validate", "--list-rules", "--select", "key-unknown,name")
    assert done.code == 0
    assert "key-unknown (error; specification)\n" in done.out
    assert f"      fix: {RULES['key-unknown'].fix}\n" in done.out
    assert "reference-missing" not in done.out
    (only,) = skillhub("validate", "--list-rules", "--select", "key-unknown", "--json").json["rules"]
    assert (only["id"], only["severity"], only["fix"]) == ("key-unknown", "error", RULES["key-unknown"].fix)
    assert skillhub("validate", "--select", "zzzzzz").err.endswith("hint: skillhub validate --list-rules\n")


def test_a_fix_is_shown_first_and_yes_writes_it_with_the_same_mode(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    directory = write_skill("my-skill", frontmatter="name: My_Skill\ndescription: Use when due.")
    file = directory / "SKILL.md"
    file.chmod(0o640)
    before = file.read_bytes()
    done = skillhub("validate", "--fix", str(directory))
    path = file.resolve()
    assert done.code == 1
    assert done.out.startswith(
        f"--- {path}\n+++ {path} (name-form)\n@@ -1,3 +1,3 @@\n ---\n-name: My_Skill\n+name: my-skill\n"
    )
    assert "\nnothing was written; --yes writes 1 file\n" in done.out
    assert file.read_bytes() == before
    done = skillhub("validate", "--fix", "--yes", str(directory))
    assert (done.code, "fixed 1 file\n" in done.out) == (0, True)
    assert file.read_text(encoding="utf-8").splitlines()[1] == "name: my-skill"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(directory) == ["SKILL.md"]
    assert "nothing can be fixed safely" in skillhub("validate", "--fix", str(directory)).out


def test_an_unwritable_file_does_not_stop_other_fixes(
    no_larger_files: Callable[[int], Skillhub], write_skill: SkillWriter, skills_dir: Path
) -> None:
    frontmatter = "name: {}\ndescription: Foo: bar. Use when bar."
    written = [write_skill(name, frontmatter=frontmatter.format(name)) for name in ("a", "b", "c")]
    kept = written.pop(1) / "SKILL.md"
    kept.write_text(kept.read_text(encoding="utf-8") + "More.\n" * 1_000, encoding="utf-8")
    before = kept.read_bytes()
    done = no_larger_files(3_000)("validate", skills_dir, "--fix", "--yes")
    assert done.code == 1
    assert "fixed 2 of 3 files\n" in done.out
    (line,) = done.err.splitlines()
    assert line.startswith(f"not fixed: {kept} cannot be written: File too large; ")
    assert kept.read_bytes() == before
    for directory in written:
        assert "description: 'Foo: bar. Use when bar.'" in (directory / "SKILL.md").read_text(encoding="utf-8")


def test_a_fix_follows_no_link_out_of_the_skill(skillhub: Skillhub, skills_dir: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("---\nname: One\ndescription: Use when due.\n---\n", encoding="utf-8")
    (skills_dir / "one").mkdir()
    (skills_dir / "one" / "SKILL.md").symlink_to(outside)
    done = skillhub("validate", "--fix", "--yes", str(skills_dir))
    assert (done.code, "file-unreadable" in done.out) == (1, True)
    assert "name: One" in outside.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options", [["--fix", "--json"], ["--full", "--sarif"], ["--fail-on", "all"], ["--select", "no"]]
)
def test_conflicting_options_are_refused(skillhub: Skillhub, options: list[str]) -> None:
    assert skillhub("validate", *options).code == 2


def test_the_pre_commit_hook_accepts_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    project = Path(__file__).parents[2]
    (hook,) = yaml.safe_load((project / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["language"]) == ("skillhub-validate", "python")
    assert hook["entry"].split()[:2] == ["skillhub", "validate"]
    assert run([*hook["entry"].split()[1:], str(project / "examples" / "skills"), "--fail-on", "note"]) == 0
    assert "14 skills: 14 valid" in capsys.readouterr().out


def test_a_skill_file_in_other_letter_case_is_reported_and_renamed(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    skill = write_skill("one")
    (skill / "SKILL.md").rename(skill / "Skill.md")
    for path in (skill, skill / "Skill.md"):
        done = skillhub("validate", str(path))
        assert "the file is named Skill.md" in done.out
    assert skillhub("validate", str(skill), "--fix", "--yes").code == 0
    assert os.listdir(skill) == ["SKILL.md"]


def test_utf_16_is_fixed_and_another_encoding_is_refused_with_the_command(
    skillhub: Skillhub, write_skill: SkillWriter
) -> None:
    text = "---\nname: one\ndescription: 会議録作成\n---\n# How\n\n会議録。\n"
    clear = write_skill("one") / "SKILL.md"
    clear.write_bytes(text.encode("utf-16"))
    done = skillhub("validate", str(clear.parent))
    assert "file-encoding " in done.out
    assert "skillhub validate --fix" in done.out
    assert skillhub("validate", str(clear.parent), "--fix", "--yes").code == 0
    assert clear.read_text(encoding="utf-8") == text

    unclear = write_skill("two") / "SKILL.md"
    content = "---\nname: two\ndescription: 会議録作成\n---\n".encode("euc_jp")
    unclear.write_bytes(content)
    done = skillhub("validate", str(unclear.parent), "--fix", "--yes")
    assert done.code == 1
    assert "file-encoding-unknown " in done.out
    assert "the file is not UTF-8" in done.out
    assert "iconv -f ENCODING -t UTF-8" in done.out
    assert unclear.read_bytes() == content
