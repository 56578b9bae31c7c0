"""Each rule is reported for the skill that violates it, at its line, and for no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.validation.fixtures import FIXTURES, Files, header, write_files

from skillhub_mcp.skills.rules import RULES, RuleSource, Severity
from skillhub_mcp.validation.checker import ValidationResult, check
from skillhub_mcp.validation.targets import targets

Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Write a directory of files and return it."""

    def write(files: Files, name: str = "one") -> Path:
        write_files(tmp_path / name, files)
        return tmp_path / name

    return write


def verdict(directory: Path, *, advice: bool = True) -> ValidationResult:
    (only,) = [check(target, advice=advice) for target in targets([str(directory)]).found]
    return only


def rules(of: ValidationResult) -> set[str]:
    return {finding.rule for finding in of.findings}


def test_every_rule_has_an_example() -> None:
    asked = {rule.id for rule in RULES.values() if rule.origin in (RuleSource.SPECIFICATION, RuleSource.ADVICE)}
    assert set(FIXTURES) == asked


@pytest.mark.parametrize("rule", FIXTURES)
def test_a_violation_is_reported_alone(rule: str, write: Writer) -> None:
    fixture = FIXTURES[rule]
    found = verdict(write(fixture.bad, fixture.name))
    assert rules(found) - set(fixture.also) == {rule}
    broken = next(finding for finding in found.findings if finding.rule == rule)
    assert broken.severity is RULES[rule].verdict
    assert (broken.message, broken.hint) == (broken.message.strip(), RULES[rule].fix)
    assert found.valid == all(finding.severity is not Severity.ERROR for finding in found.findings)


@pytest.mark.parametrize("rule", FIXTURES)
def test_a_conforming_skill_has_no_findings(rule: str, write: Writer) -> None:
    good = FIXTURES[rule].good
    name = "技能" if "技能" in str(good["SKILL.md"]) else "one"
    assert rules(verdict(write(good, name))) == set()


LINES = {
    1: ("frontmatter-missing", "frontmatter-fence", "frontmatter-unclosed", "frontmatter-late"),
    2: ("name-directory", "name-form", "name-unusable", "yaml-not-mapping", "yaml-too-complex"),
    3: ("description-length", "description-when", "file-encoding-unknown", "yaml-repaired", "yaml-words-lost"),
    4: ("compatibility-length", "key-unknown", "key-misspelt", "key-extension", "key-type", "metadata-nested"),
    5: ("body-lines", "reference-missing", "yaml-alias", "yaml-duplicate-key"),
}


@pytest.mark.parametrize(("rule", "line"), [(rule, line) for line, rules in LINES.items() for rule in rules])
def test_findings_name_the_line_in_the_file(rule: str, line: int, write: Writer) -> None:
    fixture = FIXTURES[rule]
    found = verdict(write(fixture.bad, fixture.name))
    assert {finding.line for finding in found.findings if finding.rule == rule} == {line}


def test_advice_can_be_left_out(write: Writer) -> None:
    directory = write({"SKILL.md": header(description="Paints walls."), "references/guide.md": "x"})
    assert rules(verdict(directory)) == {"description-when", "file-unreferenced"}
    assert rules(verdict(directory, advice=False)) == set()


def test_the_most_severe_findings_come_first(write: Writer) -> None:
    directory = write({"SKILL.md": header("version: 1", name="two", description="Paints walls."), "a/b.txt": "x"})
    severities = [finding.severity for finding in verdict(directory).findings]
    assert severities == [Severity.ERROR, Severity.ERROR, Severity.NOTE, Severity.NOTE]


def test_tokens_are_estimated_for_catalogue_body_and_files(write: Writer) -> None:
    directory = write(
        {
            "SKILL.md": header(description="Use when " + "x" * 391, body="word " * 80),
            "references/a.md": "a" * 400,
            "references/b.md": "b" * 400_000,
            "assets/c.png": bytes(range(256)),
        }
    )
    cost = verdict(directory).cost
    assert cost is not None
    assert cost.catalogue == 101
    assert cost.body == 100
    # What is longer than what is read of a file is counted by its size.
    assert 100_000 <= cost.files <= 100_200


def test_a_directory_is_walked_like_a_root(write: Writer, tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden", "node_modules"):
        write({"SKILL.md": header(name=name)}, name)
    write({"SKILL.md": header(name="nested")}, "a/nested")
    found = [target.path for target in targets([str(tmp_path)]).found]
    assert found == [str(tmp_path / name / "SKILL.md") for name in ("a", "b")]


def test_a_skill_is_found_by_directory_file_or_working_directory(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write({"SKILL.md": header()})
    monkeypatch.chdir(directory)
    for path in (directory, directory / "SKILL.md", ".", "SKILL.md", f"{directory}{os.sep}"):
        assert rules(verdict(Path(path))) == set()


def test_a_linked_skill_is_checked_under_the_name_of_the_link(write: Writer, tmp_path: Path) -> None:
    directory = write({"SKILL.md": header(name="linked")}, "one")
    (tmp_path / "linked").symlink_to(directory)
    assert rules(verdict(tmp_path / "linked")) == set()
    assert rules(verdict(directory)) == {"name-directory"}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Path.exists, "the path does not exist"),
        (lambda path: path.write_text("x", encoding="utf-8"), "it is neither a directory nor a SKILL.md"),
        (Path.mkdir, "the directory contains no SKILL.md, at any depth"),
    ],
)
def test_a_path_without_a_skill_is_a_finding(make: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    path = tmp_path / "there"
    make(path)
    (finding,) = verdict(path).findings
    assert (finding.rule, finding.message) == ("file-missing", says)


def test_a_broken_skill_does_not_stop_the_others(write: Writer, tmp_path: Path) -> None:
    write({"SKILL.md": b"\x00"}, "a")
    write({"SKILL.md": header(name="b")}, "b")
    assert [check(target).valid for target in targets([str(tmp_path)]).found] == [False, True]


@pytest.mark.parametrize(
    "text",
    [
        "Helps when the build is red.",
        "Trigger on any mention of invoices.",
        "PDFの表を抽出する。請求書を読む場合に。",
        "Verwende dies, sobald ein Bericht fällig ist.",
        "用于生成周报。",
        "Úsalo cuando haya que traducir.",
    ],
)
def test_when_to_use_is_recognised_in_many_languages(text: str, write: Writer) -> None:
    assert rules(verdict(write({"SKILL.md": header(description=text)}))) == set()


SAID_TO_BE_THERE = [
    "Read `references/guide.md` first.",
    "Read references/guide.md first.",
    "See `./references/guide.md` for details.",
    "| Topic | `references/guide.md` | when it is due |",
    "1. Run `python references/guide.md --check`",
    "### references/guide.md",
]


@pytest.mark.parametrize("body", SAID_TO_BE_THERE)
def test_a_missing_file_named_in_prose_is_reported(body: str, write: Writer) -> None:
    directory = write({"SKILL.md": header(body=f"# How\n\n{body}\n")})
    (finding,) = verdict(directory).findings
    assert (finding.rule, finding.line) == ("reference-missing", 7)
    assert finding.message == "'references/guide.md' is not in the skill"
    write({"references/guide.md": "Guide.\n"})
    assert rules(verdict(directory)) == set()


@pytest.mark.parametrize(
    "body",
    [
        "Keep scripts that are run often, e.g. `scripts/rotate.py`.",
        "- **Example**: `scripts/rotate.py` for PDF rotation tasks",
        "Create `scripts/build.js` with this content.",
        "The generated script (`scripts/build.js`) uses only built-in modules.",
        "Add a step to your `scripts/deploy.sh`.",
        "Tests of the project are in scripts/test.sh.",
        "```\nscripts/compute.py --all\n```",
        "Put the picture into `assets/logo.png`.",
        "Look at `src/main.py` and `docs/index.md`.",
        "`packages/one/scripts/run.sh` and `https://example.com/scripts/run.sh` are elsewhere.",
        "Write each chapter to `references/<topic>.md`, `references/*.md` or `scripts/{name}.py`.",
    ],
)
def test_examples_and_files_of_the_user_are_not_reported(body: str, write: Writer) -> None:
    assert rules(verdict(write({"SKILL.md": header(body=f"# How\n\n{body}\n")}))) == set()


def test_paths_in_existing_directories_are_always_checked(write: Writer) -> None:
    """With the directory there, an example or a block of code can only mean what is in it."""
    directory = write(
        {"SKILL.md": header(body="```\nscripts/b.py\n```\nFor example scripts/a.py.\n"), "scripts/a.py": ""}
    )
    assert [finding.message for finding in verdict(directory).findings] == ["'scripts/b.py' is not in the skill"]
