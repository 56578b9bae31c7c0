"""Lenient parsing: unusual values are reported, and only unusable skills are refused."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.admission import LENIENT, STRICT
from skillhub_mcp.skills.frontmatter import Value
from skillhub_mcp.skills.model import FileStamp, Skill
from skillhub_mcp.skills.parser import MAX_NAME, MAX_SPECIFIED_DESCRIPTION, ParseResult, allowed_tools, parse_skill

STAMP = FileStamp(mtime_ns=1, size=2, content_hash="3", read_at_ns=4)


def read(header: str, *, directory_name: str = "a", body: str = "") -> ParseResult:
    content = f"---\n{header}\n---\n{body}".encode()
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


def test_the_name_of_a_directory_is_normalised() -> None:
    assert served("description: b", directory_name="re\u0301sume\u0301").name == "r\u00e9sum\u00e9"


def test_a_directory_in_another_unicode_form_has_the_same_name() -> None:
    assert violations(served("name: r\u00e9sum\u00e9\ndescription: b", directory_name="re\u0301sume\u0301")) == []


def test_a_skill_without_any_name_is_not_served() -> None:
    reading = read("description: b", directory_name="\n")
    assert reading.skill is None
    assert [rule for rule, _ in violations(reading)] == ["name-missing", "name-unusable"]


@pytest.mark.parametrize("name", ["Chat with PDF", "a_b", "a--b", "-a", "ns:skill", "A" * 65, "a" * 65])
def test_an_invalid_name_is_kept_and_noted(name: str) -> None:
    skill = served(f"description: b\nname: '{name}'", directory_name=name)
    assert skill.name == name
    assert violations(skill) == [("name-form", 3)]


def test_a_name_is_one_line_of_normalised_text() -> None:
    skill = served('name: "  \\uFF41\\tb\\n\\x00c "\ndescription: d', directory_name="a b c")
    assert skill.name == "a b c"


def test_an_overlong_name_is_refused() -> None:
    assert not LENIENT.refuses(read(f"name: {'a' * MAX_NAME}\ndescription: b").diagnostics)
    reading = read(f"name: {'a' * (MAX_NAME + 1)}\ndescription: b")
    assert ("name-unusable", 2) in violations(reading)
    assert LENIENT.refuses(reading.diagnostics)


def test_a_name_that_differs_from_the_directory_is_only_noted() -> None:
    skill = served("name: b\ndescription: c", directory_name="a")
    assert skill.name == "b"
    assert violations(skill) == [("name-directory", 2)]


# Descriptions


@pytest.mark.parametrize("missing", ["", "description:\n", "description: ''\n", 'description: " \\n "\n'])
def test_a_skill_without_a_description_is_refused(missing: str) -> None:
    reading = read(f"{missing}name: a")
    assert violations(reading) == [("description-missing", 2 if missing else None)]
    assert LENIENT.refuses(reading.diagnostics)
    assert reading.skill is not None
    assert reading.skill.description == ""


def test_a_long_description_is_served_and_noted() -> None:
    longest = "x" * MAX_SPECIFIED_DESCRIPTION
    assert violations(served(f"name: a\ndescription: {longest}")) == []
    skill = served(f"name: a\ndescription: {longest}y")
    assert skill.description == f"{longest}y"
    assert violations(skill) == [("description-length", 3)]


def test_a_description_list_is_joined_and_noted() -> None:
    skill = served("name: a\ndescription:\n- Does it.\n- Use it when.")
    assert skill.description == "Does it. Use it when."
    assert violations(skill) == [("key-type", 3)]


@pytest.mark.parametrize("value", ["{a: b}", "[a, [b]]", "[a, ~]"])
def test_a_description_that_is_not_text_counts_as_missing(value: str) -> None:
    assert violations(read(f"name: a\ndescription: {value}")) == [("key-type", 3), ("description-missing", 3)]


# Other keys


@pytest.mark.acceptance("S2-56")
def test_only_the_keys_of_the_specification_have_no_notes() -> None:
    known = "name: a\ndescription: b\nlicense: c\nallowed-tools: d\nmetadata: {e: f}\ncompatibility: g"
    assert violations(served(known)) == []
    reading = read(f"{known}\nversion: 1\nauthor: me")
    assert violations(reading) == [("key-unknown", 8), ("key-unknown", 9)]
    assert reading.skill is not None
    assert STRICT.refuses(reading.diagnostics)
    assert not LENIENT.refuses(reading.diagnostics)


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
    assert ("key-type", 4) not in violations(served(f"name: a\ndescription: b\n{key}: Yes"))


@pytest.mark.parametrize("key", ["license", "compatibility"])
def test_a_value_of_the_wrong_type_is_dropped_and_noted(key: str) -> None:
    skill = served(f"name: a\ndescription: b\n{key}: {{x: y}}")
    assert (skill.license, skill.compatibility) == (None, None)
    assert violations(skill) == [("key-type", 4)]


def test_metadata_that_is_not_a_map_is_dropped_and_noted() -> None:
    skill = served("name: a\ndescription: b\nmetadata: [x]")
    assert skill.metadata == {}
    assert violations(skill) == [("key-type", 4)]


# allowed-tools


@pytest.mark.acceptance("S2-57")
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


def test_allowed_tools_that_are_a_map_are_noted() -> None:
    skill = served("name: a\ndescription: b\nallowed-tools: {Read: yes}")
    assert skill.allowed_tools == ()
    assert violations(skill) == [("key-type", 4)]


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
    ],
)
def test_category_and_tags_are_read_at_the_top_level_and_under_metadata(header: str) -> None:
    skill = served(f"name: a\ndescription: b\n{header}")
    assert (skill.category, skill.tags) == ("dev tools", ("one", "two words"))


@pytest.mark.parametrize(
    "header", ["category: [a, b]", "category: {a: b}", "metadata: {category: [a]}", "tags: {a: b}"]
)
def test_plain_category_or_tags_of_another_type_are_ignored(header: str) -> None:
    skill = served(f"name: a\ndescription: b\n{header}")
    assert (skill.category, skill.tags) == (None, ())


def test_the_flat_form_wins_over_the_nested_one() -> None:
    skill = served("name: a\ndescription: b\nmetadata: {skillhub.category: flat, skillhub: {category: x, tags: [t]}}")
    assert (skill.category, skill.tags) == ("flat", ("t",))


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "yes", "on", "1", "'true'", "' true '"])
def test_always_apply_accepts_every_word_for_true(word: str) -> None:
    assert served(f"name: a\ndescription: b\nmetadata: {{skillhub: {{alwaysApply: {word}}}}}").always_apply


@pytest.mark.parametrize("word", ["false", "no", "off", "0", "", "maybe", "[true]", "{true: true}", "null"])
def test_always_apply_is_false_for_anything_else(word: str) -> None:
    assert not served(f"name: a\ndescription: b\nmetadata:\n  skillhub:\n    alwaysApply: {word}").always_apply


@pytest.mark.parametrize("nested", ["text", "[a, b]", "~", "{}", "{tags: {a: b}}", "{tags: [[a], {b: c}, ~]}"])
def test_invalid_skillhub_metadata_is_ignored(nested: str) -> None:
    skill = served(f"name: a\ndescription: b\nmetadata:\n  skillhub: {nested}")
    assert (skill.category, skill.tags, skill.always_apply) == (None, (), False)


def test_a_category_that_is_not_text_is_dropped_and_noted() -> None:
    skill = served("name: a\ndescription: b\nmetadata: {skillhub: {category: [x]}}")
    assert skill.category is None
    assert ("key-type", 4) in violations(skill)


def test_an_unsearchable_category_or_tag_is_dropped_and_noted() -> None:
    long, just = "x" * 257, "y" * 256
    skill = served(f"name: a\ndescription: b\nmetadata:\n  skillhub.category: {long}\n  skillhub.tags: t, {long}")
    assert (skill.category, skill.tags) == (None, ("t",))
    assert violations(skill) == [("metadata-length", 4)]
    kept = served(f"name: a\ndescription: b\nmetadata:\n  skillhub.category: {just}\n  skillhub.tags: t, {just}")
    assert (kept.category, kept.tags) == (just, ("t", just))
    assert violations(kept) == []


def test_non_text_metadata_is_kept_and_noted() -> None:
    skill = served("name: a\ndescription: b\nmetadata:\n  version: 1.10\n  x: {y: [z]}")
    assert skill.metadata == {"version": "1.10", "x": {"y": ["z"]}}
    assert violations(skill) == [("metadata-nested", 4)]


def test_the_body_is_returned_beside_the_skill() -> None:
    assert read("name: a\ndescription: b", body="# B\r\n").body == "# B\r\n"
    assert read("name: a", body="text").body == "text"
