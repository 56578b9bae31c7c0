"""Which skill a SKILL.md describes, and what is said of it (seed 002 §5.2)."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.model import FileStamp, Skill, is_specified_name, safe_alias
from skillhub_mcp.skills.reading import Reading, allowed_tools, read_skill, refused
from skillhub_mcp.skills.rules import RULES

STAMP = FileStamp(0, 0, "", 0)


def read(header: str, directory_name: str = "one") -> Reading:
    content = f"---\n{header}\n---\nbody\n".encode()
    return read_skill(content, directory="/r/one", root="/r", directory_name=directory_name, stamp=STAMP)


def skill(header: str) -> Skill:
    reading = read(f"name: one\ndescription: d\n{header}")
    assert reading.skill is not None, reading.diagnostics
    return reading.skill


def rules(reading: Reading) -> list[str]:
    return [diagnostic.rule for diagnostic in reading.diagnostics]


# What breaks each rule that reading finds, and nothing else.
BREACHES = {
    "name-missing": "description: d",
    "name-unusable": f"name: {'a' * 257}\ndescription: d",
    "name-form": "name: One Two\ndescription: d",
    "name-directory": "name: other\ndescription: d",
    "description-missing": "name: one",
    "description-length": f"name: one\ndescription: {'d' * 1025}",
    "key-unknown": "name: one\ndescription: d\nversion: 1",
    "key-type": "name: one\ndescription: d\nlicense: {a: b}",
    "metadata-nested": "name: one\ndescription: d\nmetadata: {skillhub: {category: x}}",
}


@pytest.mark.acceptance("S2-56")
@pytest.mark.parametrize(("rule", "header"), BREACHES.items())
def test_a_breach_is_noted_and_only_what_cannot_be_served_is_refused(rule: str, header: str) -> None:
    reading = read(header)
    assert rule in rules(reading)
    assert (reading.skill is None) == RULES[rule].refuses


def test_a_skill_that_keeps_every_rule_has_nothing_noted() -> None:
    every_key = (
        "name: one\ndescription: d\nlicense: MIT\ncompatibility: any\nallowed-tools: Read\n"
        'metadata:\n  skillhub.category: "c"\n  skillhub.tags: "a, b"'
    )
    assert read(every_key).diagnostics == ()


@pytest.mark.acceptance("S2-56")
def test_strict_loading_refuses_every_breach_of_the_specification() -> None:
    assert refused(read(BREACHES["key-unknown"]).diagnostics, strict=True)
    assert not refused(read(BREACHES["key-unknown"]).diagnostics, strict=False)
    assert not refused(read(BREACHES["name-directory"]).diagnostics, strict=True)


def test_a_missing_name_takes_the_directorys() -> None:
    found = read("description: d", directory_name="from-directory").skill
    assert found is not None
    assert found.name == "from-directory"


@pytest.mark.acceptance("S2-57")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Read Write", ("Read", "Write")),
        ("Read, Write,,Grep", ("Read", "Write", "Grep")),
        ("Bash(git add *, git commit) Read", ("Bash(git add *, git commit)", "Read")),
        ("Bash(a (b c)) Read", ("Bash(a (b c))", "Read")),
        (["Read", " Bash(x y) ", ""], ("Read", "Bash(x y)")),
        (None, ()),
        ({"a": "b"}, ()),
        ("Bash(unclosed Read", ("Bash(unclosed Read",)),
        (") Read", (")", "Read")),
    ],
)
def test_allowed_tools_are_split_outside_parentheses(written: object, expected: tuple[str, ...]) -> None:
    assert allowed_tools(written) == expected


@pytest.mark.acceptance("S2-46", "S2-58")
@pytest.mark.parametrize(
    "metadata",
    [
        'metadata: {skillhub.category: Docs, skillhub.tags: "PDF, Invoice,pdf", skillhub.alwaysApply: "true"}',
        "metadata: {skillhub: {category: DOCS, tags: [PDF, invoice], alwaysApply: yes}}",
        "metadata:\n  skillhub:\n    category: docs\n    tags:\n      - Pdf\n      - Invoice\n    alwaysApply: True",
    ],
)
def test_category_tags_and_always_apply_are_read_in_every_form(metadata: str) -> None:
    found = skill(metadata)
    assert (found.category, found.tags, found.always_apply) == ("docs", ("pdf", "invoice"), True)


@pytest.mark.acceptance("S2-58", "S2-60")
def test_a_skill_without_metadata_or_with_the_old_keys_works() -> None:
    plain = skill("")
    assert (plain.category, plain.tags, plain.always_apply, dict(plain.metadata)) == (None, (), False, {})
    old = skill("metadata: {skillhub: {runtime: python, requires_setup: true}}")
    assert (old.category, old.tags, old.always_apply) == (None, (), False)


@pytest.mark.parametrize(
    "metadata", ["metadata: text", "metadata: [a]", "metadata: {skillhub: {tags: {a: b}, category: [x]}}"]
)
def test_metadata_of_the_wrong_type_loses_only_itself(metadata: str) -> None:
    found = skill(metadata)
    assert (found.category, found.tags) == (None, ())


def test_text_that_is_a_list_is_joined() -> None:
    reading = read("name: one\ndescription:\n  - Reads PDF.\n  - Writes CSV.")
    assert reading.skill is not None
    assert reading.skill.description == "Reads PDF. Writes CSV."
    assert rules(reading) == ["key-type"]


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("pdf-reader", "pdf-reader"),
        ("Chat with PDF", "chat-with-pdf"),
        ("a:b/c_d", "a-b-c-d"),
        ("C++ Pro", "c-pro"),
        ("--x--", "x"),
        ("議事録", "議事録"),
        ("ＰＤＦ", "pdf"),
        ("🎉", ""),
        ("a" * 80, "a" * 64),
    ],
)
def test_every_name_has_a_safe_alias(name: str, alias: str) -> None:
    assert safe_alias(name) == alias
    assert is_specified_name(name) == (name == alias)


def test_the_line_of_a_breach_is_the_one_in_the_file() -> None:
    (diagnostic,) = read("name: one\ndescription: d\nversion: 1").diagnostics
    assert diagnostic.line == 4
    assert diagnostic.hint
