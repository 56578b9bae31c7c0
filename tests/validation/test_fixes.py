"""The fixes of `validate --fix`, which change nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.validation.fixtures import WHEN, header

from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.validation.fixes import FIXABLE_RULES, fix

MENDS: dict[str, tuple[str, bytes, bytes]] = {
    "frontmatter-late": ("one", ("\n \n" + header()).encode(), header().encode()),
    "frontmatter-unclosed": (
        "one",
        f"---\nname: one\ndescription: {WHEN}\nmetadata:\n  a: b\n\n# How\n\nDo it.\n".encode(),
        f"---\nname: one\ndescription: {WHEN}\nmetadata:\n  a: b\n---\n\n# How\n\nDo it.\n".encode(),
    ),
    "yaml-repaired": (
        "one",
        b"---\nname: one # its name\ndescription: Use when: it's due\nlicense: MIT\n---\nBody: as it is\n",
        b"---\nname: one # its name\ndescription: 'Use when: it''s due'\nlicense: MIT\n---\nBody: as it is\n",
    ),
    "name-form": ("my-skill", header(name="My_Skill").encode(), header(name="my-skill").encode()),
    "metadata-nested": (
        "one",
        header(
            "metadata:\n  author: me\n  skillhub:\n    category: docs\n    tags: [a, b c]\n    alwaysApply: true\n"
            "  last: x"
        ).encode(),
        header(
            'metadata:\n  author: me\n  skillhub.category: "docs"\n  skillhub.tags: "a, b c"\n'
            '  skillhub.alwaysApply: "true"\n  last: x'
        ).encode(),
    ),
    "file-encoding": ("one", header(description="Grüße").encode("cp1252"), header(description="Grüße").encode()),
}


def test_every_rule_that_can_be_fixed_is_tried() -> None:
    assert set(MENDS) == set(FIXABLE_RULES)


@pytest.mark.parametrize("rule", MENDS)
def test_a_violation_is_fixed_and_every_other_byte_stays(rule: str) -> None:
    name, before, after = MENDS[rule]
    fixed = fix(before, name)
    assert fixed.content == after
    assert fixed.rules == (rule,)


@pytest.mark.parametrize("rule", [rule for rule in MENDS if rule != "file-encoding"])
def test_line_endings_stay_what_they_are(rule: str) -> None:
    name, before, after = MENDS[rule]
    assert fix(before.replace(b"\n", b"\r\n"), name).content.lstrip(b"\r\n ") == after.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("rule", MENDS)
def test_fixing_twice_changes_nothing_more(rule: str) -> None:
    name, _, after = MENDS[rule]
    again = fix(after, name)
    assert (again.content, again.rules) == (after, ())


def test_several_violations_are_fixed_at_once() -> None:
    before = "\n---\nname: My Skill\ndescription: Use when: due\nmetadata:\n  skillhub:\n    category: x\n---\n"
    fixed = fix(before.encode("utf-16"), "my-skill")
    assert fixed.content.decode() == (
        "---\nname: my-skill\ndescription: 'Use when: due'\nmetadata:\n  skillhub.category: \"x\"\n---\n"
    )
    assert fixed.rules == ("file-encoding", "frontmatter-late", "yaml-repaired", "name-form", "metadata-nested")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one", header(name="Quite Another!")),  # the intended name is unknown
        ("one", header("version: 1.0")),  # a key may be meant for another program
        ("one", "---\nname: one\ndescription: x\nIs this the body?\n"),  # the fence could stand in two places
        ("one", "# Only a heading\n"),
        ("one", header("metadata:\n  skillhub:\n    category: x # why\n")),  # a remark would be lost
        ("one", header("metadata:\n  skillhub:\n    other: {a: b}\n")),
        ("one", header("license: 'open")),
        ("one", header()),
        ("one", ""),
    ],
)
def test_what_would_be_a_guess_is_left_alone(name: str, text: str) -> None:
    fixed = fix(text.encode(), name)
    assert (fixed.content, fixed.rules) == (text.encode(), ())


def test_a_byte_order_mark_stays() -> None:
    mark = b"\xef\xbb\xbf"
    _, before, after = MENDS["metadata-nested"]
    assert fix(mark + before, "one").content == mark + after


_TEXT = st.text(
    st.sampled_from(
        ["a", "Ä", "名", ":", " ", "#", "'", '"', "-", "[", "]", "{", "\n", "\r", "\t", ",", "&", "*", "|", ">", "%"]
    ),
    max_size=30,
)


@given(description=_TEXT, more=_TEXT, name=_TEXT, body=_TEXT)
def test_whatever_is_written_fixing_keeps_every_value_and_settles(
    description: str, more: str, name: str, body: str
) -> None:
    before = f"---\nname: {name}\ndescription: {description}\nlicense: {more}\n---\n{body}".encode()
    fixed = fix(before, "one")
    if not fixed.rules:
        assert fixed.content == before
        return
    old, new = parse(before), parse(fixed.content)
    assert new.values is not None
    for key in {*(old.values or {})} - {"name", "metadata"}:
        assert new.values[key] == (old.values or {})[key]
    assert new.body == old.body
    assert fix(fixed.content, "one").rules == ()


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(content: bytes) -> None:
    fix(content, "one")
    fix(b"---\n" + content + b"\n---\n", "one")
