"""The violations that exclude a skill, for each consumer of the same file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import SkillWriter

from skillhub_mcp import build_index
from skillhub_mcp.skills.admission import (
    AGENT_CONTEXT,
    LENIENT,
    REGISTRY_LENIENT,
    REGISTRY_STRICT,
    STRICT,
    Admission,
)
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.skills.rules import RULES, RuleSource

READERS = {
    "lenient": LENIENT,
    "strict": STRICT,
    "agent-context": AGENT_CONTEXT,
    "registry-lenient": REGISTRY_LENIENT,
    "registry-strict": REGISTRY_STRICT,
}


def refused_for(header: str, admission: Admission, *, directory_name: str = "a") -> set[str]:
    """The refusing rules that a header breaks for a consumer."""
    content = f"---\n{header}\n---\n".encode()
    read = parse_skill(content, directory="/r/a", directory_name=directory_name)
    violations = admission.violations(read.skill, read.diagnostics, read.shape)
    refused = {violation.rule for violation in violations} & admission.refusing
    assert bool(refused) == admission.refuses(violations)
    return refused


def who_refuses(header: str, *, directory_name: str = "a") -> dict[str, set[str]]:
    judged = {name: refused_for(header, reader, directory_name=directory_name) for name, reader in READERS.items()}
    return {name: rules for name, rules in judged.items() if rules}


def test_a_conforming_skill_is_accepted_by_every_consumer() -> None:
    assert who_refuses("name: a\ndescription: Does it.\nlicense: MIT\nmetadata:\n  version: '1'") == {}


@pytest.mark.acceptance("S3-15", "S3-16")
@pytest.mark.parametrize(
    ("header", "refused"),
    [
        (
            "name: a",
            {
                "lenient": {"description-missing"},
                "strict": {"description-missing"},
                "agent-context": {"description-missing"},
                "registry-strict": {"description-missing"},
            },
        ),
        (
            "description: b",
            {"strict": {"name-missing"}, "agent-context": {"name-missing"}, "registry-strict": {"name-missing"}},
        ),
        ("name: a\ndescription: b\nversion: 1", {"strict": {"key-unknown"}}),
        ("name: a\ndescription: Use: now", {"strict": {"yaml-repaired"}}),
        ("name: b\ndescription: b", {"strict": {"name-directory"}, "agent-context": {"name-directory"}}),
        (
            f"name: a\ndescription: {'x' * 1_025}",
            {"strict": {"description-length"}, "agent-context": {"description-length"}},
        ),
        ("name: a\ndescription: <b>", {"registry-strict": {"registry-markup"}}),
    ],
)
def test_each_consumer_applies_its_own_rules(header: str, refused: dict[str, set[str]]) -> None:
    assert who_refuses(header) == refused


@pytest.mark.parametrize(("name", "consumers"), [("日本語", {"agent-context"}), ("A B", {"strict", "agent-context"})])
def test_strict_loading_and_agent_context_check_the_form_of_names(name: str, consumers: set[str]) -> None:
    assert set(who_refuses(f"name: {name}\ndescription: b", directory_name=name)) == consumers


# The strict registry


@pytest.mark.acceptance("S3-12")
@pytest.mark.parametrize(
    "line",
    [
        "description: Writes <b>bold</b>",
        "description: a < b",
        "description: '>'",
        "description: |\n  first\n  a -> b",
        "description: >\n  folded <x>",
        "license: <none>",
        "author: Me <me@example.org>",
        "unknown: [a, [b, {c: <d>}]]",
        "metadata: {x: {y: ['>']}}",
        "metadata: {'<x>': y}",
        'description: "\\x3Cb\\x3E"',
        "compatibility: &x <a>",
    ],
)
def test_angle_brackets_in_any_value_are_refused_with_the_reason(line: str) -> None:
    header = f"name: a\n{line}" if line.startswith("description") else f"name: a\ndescription: b\n{line}"
    assert refused_for(header, REGISTRY_STRICT) == {"registry-markup"} or "\\x3C" in line
    assert refused_for(header, REGISTRY_LENIENT) == set()


def lines(count: int) -> str:
    return "\n".join(["name: a", "description: b", *(f"key-{n}: x" for n in range(count - 2))])


@pytest.mark.acceptance("S3-13")
def test_two_hundred_lines_are_accepted_and_one_more_is_not() -> None:
    assert refused_for(lines(200), REGISTRY_STRICT) == set()
    assert refused_for(lines(201), REGISTRY_STRICT) == {"registry-lines"}
    assert refused_for(lines(201), REGISTRY_LENIENT) == set()
    bounded = replace(REGISTRY_STRICT, max_header_lines=3, max_line_characters=500)
    assert (refused_for(lines(3), bounded), refused_for(lines(4), bounded)) == (set(), {"registry-lines"})


@pytest.mark.acceptance("S3-13")
def test_a_line_of_500_characters_is_accepted_and_one_more_is_not() -> None:
    longest = "license: ".ljust(500, "x")
    assert refused_for(f"name: a\ndescription: b\n{longest}", REGISTRY_STRICT) == set()
    assert refused_for(f"name: a\ndescription: b\n{longest}x", REGISTRY_STRICT) == {"registry-line-length"}
    assert refused_for(f"# {longest}\nname: a\ndescription: b", REGISTRY_STRICT) == {"registry-line-length"}
    bounded = replace(REGISTRY_STRICT, max_header_lines=200, max_line_characters=20)
    assert refused_for("name: a\ndescription: b\nlicense: Apache-2.0 or MIT", bounded) == {"registry-line-length"}


@pytest.mark.acceptance("S3-13")
@pytest.mark.parametrize(
    "description",
    ["x" * 900, '"' + "x" * 900 + '"', ">-\n  " + "x" * 900, "|\n  short\n  " + "x" * 900, "x\n  " + "y" * 900],
)
def test_description_lines_may_be_longer(description: str) -> None:
    assert refused_for(f"name: a\ndescription: {description}", REGISTRY_STRICT) == set()
    header = f"name: a\ndescription: {description}\nlicense: {'x' * 600}"
    assert refused_for(header, REGISTRY_STRICT) == {"registry-line-length"}


@pytest.mark.acceptance("S3-13")
def test_the_limits_are_settings(write_skill: SkillWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(write_skill("a", extra=f"license: MIT\n# {'x' * 600}").parent)
    assert build_index([root]).skills == ()
    monkeypatch.setenv("SKILLHUB_REGISTRY_MAX_LINE_CHARACTERS", "700")
    assert len(build_index([root]).skills) == 1
    monkeypatch.setenv("SKILLHUB_REGISTRY_MAX_LINES", "3")
    assert build_index([root]).skills == ()
    assert len(build_index([root], lenient=True).skills) == 1


@pytest.mark.acceptance("S3-12", "S3-34")
def test_the_reason_is_only_what_refused_the_skill(write_skill: SkillWriter) -> None:
    # version and author at the top level are noted too, but do not refuse the skill.
    root = write_skill("Wild Name", "Writes <b>.", extra="version: 1.0\nauthor: me", directory="a").parent
    write_skill("b", frontmatter="version: 1.0\nauthor: me\nname: b")
    write_skill("c", frontmatter="version: <1.0>\ndescription: x")
    report = build_index([str(root)]).report
    assert [place.rule for place in report.ignored] == ["registry-markup", "description-missing", "name-missing"]
    assert report.ignored_counts == {"description-missing": 1, "name-missing": 1, "registry-markup": 1}


def test_every_admission_uses_existing_rules_and_refuses_unusable_skills() -> None:
    unusable = {rule.id for rule in RULES.values() if rule.refuses}
    for name, reader in READERS.items():
        assert reader.refusing <= set(RULES)
        assert unusable - reader.refusing == ({"description-missing"} if name == "registry-lenient" else set())
    for rule in RULES.values():
        if rule.origin is RuleSource.ADVICE:
            assert not any(rule.id in reader.refusing for reader in READERS.values())
