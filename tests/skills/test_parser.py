"""Lenient parsing: unusual values are reported, and only unusable skills are refused."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.admission import LENIENT
from skillhub_mcp.skills.frontmatter import Value
from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.parser import ParseResult, allowed_tools, parse_skill

STAMP = FileStamp(mtime_ns=1, size=2, content_hash="3", read_at_ns=4)


def read(header: str, *, directory_name: str = "a") -> ParseResult:
    content = f"---\n{header}\n---\n".encode()
    return parse_skill(content, directory="/r/a", root="/r", directory_name=directory_name, stamp=STAMP)


def served(header: str, *, directory_name: str = "a") -> Skill:
    reading = read(header, directory_name=directory_name)
    assert reading.skill is not None, reading.diagnostics
    assert reading.skill.diagnostics == reading.diagnostics
    return reading.skill


def violations(reading: ParseResult | Skill) -> list[tuple[str, int | None]]:
    return [(diagnostic.rule, diagnostic.line) for diagnostic in reading.diagnostics]


def test_a_conforming_skill_has_no_notes() -> None:
    header = (
        "name: a\ndescription: Does it.\nlicense: MIT\ncompatibility: Needs git\nallowed-tools: Read Bash(git:*)\n"
        "metadata:\n  author: me\n  skillhub.category: Dev\n  skillhub.tags: One, two words\n"
        '  skillhub.alwaysApply: "true"'
    )
    assert served(header) == Skill(
        name="a",
        description="Does it.",
        directory="/r/a",
        root="/r",
        category="dev",
        tags=("one", "two words"),
        always_apply=True,
        allowed_tools=("Read", "Bash(git:*)"),
        license="MIT",
        compatibility="Needs git",
        metadata={
            "author": "me",
            "skillhub.category": "Dev",
            "skillhub.tags": "One, two words",
            "skillhub.alwaysApply": "true",
        },
        diagnostics=(),
        stamp=STAMP,
        author="me",
        allowed_tools_text="Read Bash(git:*)",
    )


@pytest.mark.acceptance("S2-58")
def test_name_and_description_are_enough() -> None:
    skill = served("name: a\ndescription: b")
    assert (skill.category, skill.tags, skill.always_apply, skill.allowed_tools) == (None, (), False, ())
    assert (skill.license, skill.compatibility, skill.metadata, skill.diagnostics) == (None, None, {}, ())


# Names


@pytest.mark.parametrize("name", ["123", "1.10", "2024-01-01", "yes"])
def test_a_name_like_a_number_or_a_date_stays_text(name: str) -> None:
    assert served(f"name: {name}\ndescription: b", directory_name=name).name == name


@pytest.mark.parametrize("missing", ["", "name:\n", "name: ''\n", "name: '  '\n", "name: null\n"])
def test_without_a_name_the_directory_names_the_skill(missing: str) -> None:
    skill = served(f"{missing}description: b", directory_name="my-skill")
    assert skill.name == "my-skill"
    assert violations(skill) == [("name-missing", 2 if missing else None)]


def test_a_skill_without_any_name_is_not_served() -> None:
    reading = read("description: b", directory_name="\n")
    assert reading.skill is None
    assert [rule for rule, _ in violations(reading)] == ["name-missing", "name-unusable"]


@pytest.mark.parametrize("name", ["Chat with PDF", "a_b", "a--b", "-a", "ns:skill", "A" * 65, "a" * 65])
def test_an_invalid_name_is_kept_and_noted(name: str) -> None:
    skill = served(f"description: b\nname: '{name}'", directory_name=name)
    assert skill.name == name
    assert violations(skill) == [("name-form", 3)]


@pytest.mark.parametrize(
    ("header", "directory_name", "name"),
    [
        ("description: b", "re\u0301sume\u0301", "r\u00e9sum\u00e9"),
        ("name: r\u00e9sum\u00e9\ndescription: b", "re\u0301sume\u0301", "r\u00e9sum\u00e9"),
        ('name: "  \\uFF41\\tb\\n\\x00c "\ndescription: d', "a b c", "a b c"),
    ],
)
def test_a_name_is_one_line_of_normalised_text(header: str, directory_name: str, name: str) -> None:
    skill = served(header, directory_name=directory_name)
    assert skill.name == name
    assert "name-directory" not in {rule for rule, _ in violations(skill)}


# Descriptions


@pytest.mark.parametrize("missing", ["", "description:\n", "description: ''\n", 'description: " \\n "\n'])
def test_a_skill_without_a_description_is_refused(missing: str) -> None:
    reading = read(f"{missing}name: a")
    assert violations(reading) == [("description-missing", 2 if missing else None)]
    assert LENIENT.refuses(reading.diagnostics)
    assert reading.skill is not None
    assert reading.skill.description == ""


@pytest.mark.parametrize("value", ["{a: b}", "[a, [b]]", "[a, ~]"])
def test_a_description_that_is_not_text_counts_as_missing(value: str) -> None:
    assert violations(read(f"name: a\ndescription: {value}")) == [("key-type", 3), ("description-missing", 3)]


# Other keys


@pytest.mark.parametrize(
    ("lines", "attribute", "value", "found"),
    [
        ("license: {x: y}", "license", None, [("key-type", 4)]),
        ("compatibility: {x: y}", "compatibility", None, [("key-type", 4)]),
        ("metadata: [x]", "metadata", {}, [("key-type", 4)]),
        ("allowed-tools: {Read: yes}", "allowed_tools", (), [("key-type", 4)]),
        ("license: [MIT, or later]", "license", "MIT or later", [("key-type", 4)]),
        ("metadata: {skillhub.category: [x]}", "category", None, [("metadata-nested", 4), ("key-type", 4)]),
        ("metadata: {x: {y: [z]}, v: 1.10}", "metadata", {"x": {"y": ["z"]}, "v": "1.10"}, [("metadata-nested", 4)]),
    ],
)
def test_a_value_of_another_type_is_reported_and_costs_no_skill(
    lines: str, attribute: str, value: object, found: list[tuple[str, int]]
) -> None:
    skill = served(f"name: a\ndescription: b\n{lines}")
    assert getattr(skill, attribute) == value
    assert violations(skill) == found


@pytest.mark.acceptance("S2-60")
def test_the_old_keys_runtime_and_requires_setup_have_no_effect() -> None:
    header = "name: a\ndescription: b\nmetadata:\n  skillhub:\n    category: c"
    plain = served(header)
    for inner in ("    runtime: python\n    requires_setup: true", "    runtime: none\n    requires_setup: false"):
        old = served(f"{header}\n{inner}")
        assert (old.category, old.tags, old.always_apply, old.allowed_tools) == ("c", (), False, ())
        assert old.diagnostics == plain.diagnostics
        assert old.searchable_text == plain.searchable_text
    at_the_top = read("name: a\ndescription: b\nruntime: python\nrequires_setup: true")
    assert at_the_top.skill is not None
    assert violations(at_the_top) == [("key-unknown", 4), ("key-unknown", 5)]


@pytest.mark.parametrize("key", ["disable-model-invocation", "user-invocable"])
def test_an_invalid_switch_is_noted_and_keeps_its_default(key: str) -> None:
    for written in ("maybe", "[true]", "{a: true}"):
        skill = served(f"name: a\ndescription: b\n{key}: {written}")
        assert (skill.disable_model_invocation, skill.user_invocable) == (False, True)
        assert ("key-type", 4) in violations(skill)
    for written in ("true", "Yes", "on", "'1'", "false", "No"):
        skill = served(f"name: a\ndescription: b\n{key}: {written}")
        assert getattr(skill, key.replace("-", "_")) is (written not in ("false", "No"))
        assert ("key-type", 4) not in violations(skill)


# allowed-tools


@pytest.mark.acceptance("S2-57", "S3-17")
@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Read Write", ("Read", "Write")),
        ("Read, Write,,Bash", ("Read", "Write", "Bash")),
        ("Bash(git add *) Read", ("Bash(git add *)", "Read")),
        ("Bash(a, b), Bash(c (d) e) f", ("Bash(a, b)", "Bash(c (d) e)", "f")),
        ("Bash(never closed, Read", ("Bash(never closed, Read",)),
        ("a) b", ("a)", "b")),
        ("[Read, Bash(git add *)]", ("Read", "Bash(git add *)")),
        ("\n- Read\n- ' Bash(git add *) '\n- ''", ("Read", "Bash(git add *)")),
        ("mcp__server__tool", ("mcp__server__tool",)),
        ("'*'", ("*",)),
        ("", ()),
        ("' , '", ()),
    ],
)
def test_allowed_tools_may_be_text_or_a_list(written: str, tools: tuple[str, ...]) -> None:
    skill = served(f"name: a\ndescription: b\nallowed-tools: {written}")
    assert skill.allowed_tools == tools
    assert skill.diagnostics == ()


@pytest.mark.parametrize("value", [None, {}, {"Read": "x"}, [], [None, ["x"], {}]])
def test_invalid_allowed_tools_allow_nothing(value: Value) -> None:
    assert allowed_tools(value) == ()


# SkillHub's own metadata


@pytest.mark.acceptance("S2-58")
@pytest.mark.parametrize(
    "tags",
    [
        "  skillhub:\n    category: Dev Tools\n    tags: [One, TWO words]\n    alwaysApply: true",
        "  skillhub:\n    category: Dev Tools\n    tags:\n    - One\n    - TWO words\n    alwaysApply: true",
        "  skillhub: {category: Dev Tools, tags: [One, TWO words], alwaysApply: true}",
        "  skillhub:\n    category: Dev Tools\n    tags: One, TWO words\n    alwaysApply: 'true'",
        '  skillhub.category: Dev Tools\n  skillhub.tags: "One, TWO words"\n  skillhub.alwaysApply: "true"',
        "  skillhub.category: Dev Tools\n  skillhub.tags: [One, TWO words]\n  skillhub.alwaysApply: true",
    ],
)
def test_category_tags_and_always_apply_are_read_in_every_form(tags: str) -> None:
    skill = served(f"name: a\ndescription: b\nmetadata:\n{tags}")
    assert (skill.category, skill.tags, skill.always_apply) == ("dev tools", ("one", "two words"), True)


@pytest.mark.acceptance("S2-46")
def test_category_and_tags_are_lower_case_and_unique() -> None:
    skill = served("name: a\ndescription: b\nmetadata: {skillhub: {category: ' ÄÖ  X ', tags: [B, a, b, '', ' A ']}}")
    assert skill.category == "äö x"
    assert skill.tags == ("b", "a")


@pytest.mark.parametrize(
    "header",
    [
        "category: Dev Tools\ntags: [One, TWO words]",
        "category: Dev Tools\ntags: One, TWO words",
        "category: Dev Tools\ntags:\n- One\n- TWO words",
        "metadata:\n  category: Dev Tools\n  tags: One, TWO words",
        "metadata:\n  category: Dev Tools\n  tags: [One, TWO words]",
        "tags: One, TWO words\nmetadata:\n  category: Dev Tools",
        "category: Dev Tools\ntags: One, TWO words\nmetadata:\n  category: other\n  tags: other",
        "category: other\ntags: other\nmetadata:\n  skillhub.category: Dev Tools\n  skillhub.tags: One, TWO words",
        "category: other\ntags: other\nmetadata:\n  skillhub: {category: Dev Tools, tags: [One, TWO words]}",
        "metadata: {skillhub.category: Dev Tools, skillhub: {category: other, tags: [One, TWO words]}}",
    ],
)
def test_category_and_tags_are_read_at_the_top_level_and_under_metadata(header: str) -> None:
    skill = served(f"name: a\ndescription: b\n{header}")
    assert (skill.category, skill.tags) == ("dev tools", ("one", "two words"))


@pytest.mark.parametrize(
    "header",
    [
        *("category: [a, b]", "category: {a: b}", "metadata: {category: [a]}", "tags: {a: b}"),
        *("metadata: {skillhub: text}", "metadata: {skillhub: [a]}", "metadata: {skillhub: {tags: [[a], ~]}}"),
    ],
)
def test_a_category_or_tags_of_another_type_are_ignored(header: str) -> None:
    skill = served(f"name: a\ndescription: b\n{header}")
    assert (skill.category, skill.tags, skill.always_apply) == (None, (), False)


@pytest.mark.parametrize(
    ("word", "applies"),
    [
        *((word, True) for word in ("true", "True", "TRUE", "yes", "on", "1", "'true'", "' true '")),
        *((word, False) for word in ("false", "no", "off", "0", "''", "maybe", "[true]", "{true: true}", "null")),
    ],
)
def test_always_apply_is_any_word_for_true(word: str, applies: bool) -> None:
    skill = served(f"name: a\ndescription: b\nmetadata: {{skillhub: {{alwaysApply: {word}}}}}")
    assert skill.always_apply is applies


def test_an_unsearchable_category_or_tag_is_dropped_and_noted() -> None:
    long, just = "x" * 257, "y" * 256
    skill = served(f"name: a\ndescription: b\nmetadata:\n  skillhub.category: {long}\n  skillhub.tags: t, {long}")
    assert (skill.category, skill.tags) == (None, ("t",))
    assert violations(skill) == [("metadata-length", 4)]
    kept = served(f"name: a\ndescription: b\nmetadata:\n  skillhub.category: {just}\n  skillhub.tags: t, {just}")
    assert (kept.category, kept.tags) == (just, ("t", just))
    assert violations(kept) == []
