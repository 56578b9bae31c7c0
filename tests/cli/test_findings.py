"""The findings as text: grouped by file, counted by rule, and no more than a screen has room for."""

from __future__ import annotations

import os

import pytest

from skillhub_mcp.cli.colours import Painter
from skillhub_mcp.cli.findings import FindingsText
from skillhub_mcp.cli.output import plural
from skillhub_mcp.cli.screen import Screen
from skillhub_mcp.skills.rules import RULES
from skillhub_mcp.validation.verdict import Finding, ValidationResult

TEXT = FindingsText("/work", Painter())
WIDE = 10_000


def finding(rule: str, line: int | None = None, message: str = "a message") -> Finding:
    return Finding(rule, RULES[rule].verdict, message, RULES[rule].fix, line)


def result(path: str, *findings: Finding) -> ValidationResult:
    return ValidationResult(path, "one", findings)


def many(count: int, rule: str = "body-lines") -> list[ValidationResult]:
    return [result(f"/work/{number:03}/SKILL.md", finding(rule)) for number in range(count)]


def test_findings_are_grouped_by_file_and_stand_in_columns() -> None:
    results = [
        result("/work/a/SKILL.md", finding("key-type", 4), finding("description-when", 12)),
        result("/work/b/SKILL.md"),
        result("/elsewhere/c", finding("file-missing")),
    ]
    assert list(TEXT.by_file(results)) == [
        "a/SKILL.md",
        "   4 error   key-type          a message",
        "  12 note    description-when  a message",
        "/elsewhere/c",
        "   error   file-missing  a message",
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/work/a/SKILL.md", "a/SKILL.md"),
        ("/work/..a/SKILL.md", "..a/SKILL.md"),
        ("/worker/SKILL.md", "/worker/SKILL.md"),
        ("/SKILL.md", "/SKILL.md"),
    ],
)
def test_a_path_is_relative_if_it_is_inside(path: str, shown: str) -> None:
    assert TEXT.path(path) == shown


def test_each_rule_is_counted_once_with_its_fix_the_worst_and_most_frequent_first() -> None:
    results = [
        result("/work/a", finding("body-lines"), finding("key-type")),
        result("/work/b", finding("body-tokens"), finding("body-tokens"), finding("name-form")),
        result("/work/c", finding("name-form")),
    ]
    lines = list(TEXT.by_rule(results))
    assert [line.split()[:3] for line in lines] == [
        ["2", "error", "name-form"],
        ["1", "error", "key-type"],
        ["2", "warning", "body-tokens"],
        ["1", "warning", "body-lines"],
    ]
    assert all(line.endswith(f"  {RULES[line.split()[2]].fix}") for line in lines)
    assert list(TEXT.by_rule([])) == []


def test_what_fits_is_shown_whole() -> None:
    results = many(5)
    assert list(TEXT.that_fit(results, Screen(40, WIDE))) == list(TEXT.by_file(results))


@pytest.mark.parametrize("lines", [10, 24, 40])
@pytest.mark.parametrize("count", [20, 300])
def test_what_does_not_fit_is_counted_and_the_rest_fits(count: int, lines: int) -> None:
    results = many(count)
    shown = list(TEXT.that_fit(results, Screen(lines, WIDE)))
    # The table with its blank lines, the total, the hint at --fix and the prompt.
    assert len(shown) + len(list(TEXT.by_rule(results))) + 5 <= lines
    files = sum(line.startswith("0") or line[:1].isdigit() for line in shown)
    if files < count:
        left = count - files
        assert shown[-1] == f"… {left} more files with {left} findings: --full lists them"


def test_files_with_errors_come_first_where_not_all_fit() -> None:
    results = [*many(100), result("/work/z/SKILL.md", finding("key-type"))]
    assert list(TEXT.that_fit(results, Screen(24, WIDE)))[:2] == ["z/SKILL.md", "   error   key-type  a message"]


def test_of_one_file_with_too_many_findings_the_worst_are_shown() -> None:
    everything = [finding("key-type", 4), *(finding("reference-missing", line) for line in range(10, 90))]
    shown = list(TEXT.that_fit([result("/work/a/SKILL.md", *everything)], Screen(24, WIDE)))
    assert shown[:2] == ["a/SKILL.md", "   4 error   key-type           a message"]
    assert shown[-1] == "… 1 file with 81 findings: --full lists them"
    assert len(shown) <= 24 - 5


def test_of_one_file_with_long_lines_too_no_more_is_shown_than_fits() -> None:
    screen = Screen(24, 80)
    everything = [finding("reference-missing", line, "x" * 200) for line in range(90)]
    shown = list(TEXT.that_fit([result("/work/a/SKILL.md", *everything)], screen))
    assert len(shown) > 2
    assert sum(map(screen.height, [*shown, *TEXT.by_rule([result("/work/a", *everything)])])) <= 24 - 5


def test_a_line_that_is_wrapped_takes_the_lines_that_it_takes() -> None:
    screen = Screen(24, 80)
    assert [screen.height("x" * length) for length in (0, 1, 80, 81, 160, 161)] == [1, 1, 1, 2, 2, 3]
    long = [result(f"/work/{number}", finding("body-lines", message="x" * 70)) for number in range(6)]
    assert list(TEXT.that_fit(long, Screen(24, WIDE))) == list(TEXT.by_file(long))
    assert len(list(TEXT.that_fit(long, screen))) < len(list(TEXT.by_file(long)))


def test_a_skill_cannot_colour_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = FindingsText(os.getcwd(), Painter(True))
    lines = list(text.by_file([result("/a/\x1b[31m", finding("key-type", 1, "\x1b[0m"))]))
    assert [line.count("\\x1b") for line in lines] == [1, 1]
    assert lines[1] == "  1 \x1b[31merror  \x1b[0m key-type  \\x1b[0m"


def test_one_is_one() -> None:
    assert (plural(1, "file"), plural(0, "file"), plural(1_000, "file")) == ("1 file", "0 files", "1,000 files")
