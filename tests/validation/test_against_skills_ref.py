"""Our verdict on every real skill equals that of skills-ref, wherever skills-ref follows the specification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.validation.fixtures import header

from skillhub_mcp.validation.checker import check
from skillhub_mcp.validation.targets import Target, targets

pytestmark = pytest.mark.slow

skills_ref = pytest.importorskip("skills_ref.validator", reason="skills-ref needs Python 3.11")

# Why skills-ref says otherwise: what tells such a file, and what the specification has to say of it.
Telling = Callable[[list[str]], bool]
DIFFERENCES: dict[str, Telling] = {
    "its YAML library knows no flow style such as [a, b], which the specification does not forbid": (
        lambda problems: any("ugly disallowed JSONesque flow mapping" in problem for problem in problems)
    ),
}
# The same for files that the corpus does not have.
MADE_UP: dict[str, tuple[bytes, bool]] = {
    "it takes any three hyphens for the end of the frontmatter": (
        b"---\ndescription: Joins a --- b. Use when asked.\nname: one\n---\n",
        True,
    ),
    "it takes a byte order mark for text before the frontmatter": (b"\xef\xbb\xbf" + header().encode(), True),
    "it does not ask whether license is text": (header("license:\n  a: b").encode(), False),
    "it does not bound the frontmatter": (
        header(f"metadata:\n  a: {'x' * 70_000}").encode(),
        False,
    ),
}


def theirs(directory: Path) -> list[str]:
    try:
        problems: list[str] = skills_ref.validate(directory)
    except UnicodeDecodeError as error:
        return [str(error)]
    return problems


def ours(target: Target) -> bool:
    return check(target, advice=False).valid


def test_every_difference_over_the_corpus_is_explained(corpus: Path) -> None:
    explained: dict[str, int] = dict.fromkeys(DIFFERENCES, 0)
    compared = 0
    for target in targets([str(corpus)]).found:
        file = Path(target.path)
        problems = theirs(file.parent)
        compared += 1
        if ours(target) == (not problems):
            continue
        reasons = [reason for reason, tells in DIFFERENCES.items() if tells(problems)]
        assert reasons, (target.path, problems)
        explained[reasons[0]] += 1
    assert compared > 1_000
    assert all(explained.values()), explained


@pytest.mark.parametrize("reason", MADE_UP)
def test_known_differences_that_no_real_skill_shows(reason: str, tmp_path: Path) -> None:
    content, valid = MADE_UP[reason]
    directory = tmp_path / "one"
    directory.mkdir()
    (directory / "SKILL.md").write_bytes(content)
    (target,) = targets([str(directory)]).found
    assert (ours(target), not theirs(directory)) == (valid, not valid)


CASES: dict[str, tuple[str, str, bool]] = {
    "spec-001 a conforming skill": ("my-skill", header(name="my-skill"), True),
    "spec-005 capitals": ("MySkill", header(name="MySkill"), False),
    "spec-006 65 characters": ("x" * 65, header(name="x" * 65), False),
    "probe-014 64 characters": ("x" * 64, header(name="x" * 64), True),
    "spec-011 an unknown key": ("one", header("unknown: x"), False),
    "spec-012 all six keys": (
        "one",
        header("license: MIT\ncompatibility: any\nallowed-tools: Read\nmetadata:\n  a: b"),
        True,
    ),
    "spec-013 allowed-tools as text": ("one", header("allowed-tools: Bash(jq:*) Bash(git:*)"), True),
    "spec-014 a Chinese name": ("技能", header(name="技能"), True),
    "spec-020 501 characters of compatibility": ("one", header(f"compatibility: {'x' * 501}"), False),
    "probe-002 CRLF": ("one", header().replace("\n", "\r\n"), True),
    "probe-003 the fence ends the file": ("one", header(body="").rstrip("\n"), True),
    "probe-004 an unquoted colon": ("one", header(description="Use when: PDFs"), False),
    "probe-005 an address": ("one", header(description="Use when http://x.y is meant"), True),
    "probe-007 a rule in the body": ("one", header(body="a\n\n---\n\nb\n"), True),
    "probe-008 a folded description": ("one", header(description=">\n  Use when\n  asked"), True),
    "probe-009 a literal description": ("one", header(description="|\n  Use when\n  asked"), True),
    "probe-015 two dots": ("one", header(name=".."), False),
    "probe-015 a slash": ("one", header(name="a/b"), False),
    "probe-015 a colon": ("one", header(name="ns:skill"), False),
    "probe-015 a blank": ("one", header(name="my skill"), False),
    "probe-018 tools as a list": ("one", header("allowed-tools:\n  - Read\n  - Bash"), True),
    "probe-020 tools with commas": ("one", header("allowed-tools: Bash, Read"), True),
    "probe-021 a key twice": ("one", header("name: one"), False),
    "probe-022 a tag": ("one", header("license: !!python/object/apply:os.system [ls]"), False),
    "probe-024 a blank behind the fence": ("one", header().replace("---\n", "--- \n"), True),
    "probe-025 three dots for a fence": ("one", header().replace("\n---\n", "\n...\n"), False),
    "probe-029 full-width letters": ("one", header(name="ｏｎｅ"), True),
    "probe-030 markup": ("one", header(description="Use when <foo> & <bar>"), True),
    "probe-032 Japanese": ("pdf", header(name="pdf", description="PDFを処理。読み込み時に使用。"), True),
    "a hyphen first": ("-a", header(name="-a"), False),
    "two hyphens": ("a--b", header(name="a--b"), False),
    "no name": ("one", "---\ndescription: x\n---\n", False),
    "no description": ("one", "---\nname: one\n---\n", False),
    "a blank description": ("one", header(description='"  "'), False),
    "1,025 characters of description": ("one", header(description="x" * 1_025), False),
    "another directory": ("two", header(), False),
    "no frontmatter": ("one", "# One\n", False),
    "a list": ("one", "---\n- a\n---\n", False),
}


@pytest.mark.parametrize("case", CASES)
def test_both_agree_on_the_specification(case: str, tmp_path: Path) -> None:
    name, text, valid = CASES[case]
    directory = tmp_path / name
    directory.mkdir()
    (directory / "SKILL.md").write_bytes(text.encode())
    (target,) = targets([str(directory)]).found
    problems: Any = theirs(directory)
    assert (ours(target), not problems) == (valid, valid), problems


def test_both_report_missing_paths_and_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for path in (tmp_path / "none", tmp_path / "file"):
        (target,) = targets([str(path)]).found
        assert not ours(target)
        assert len(theirs(path)) == 1
