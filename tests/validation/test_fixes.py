"""The fixes of `validate --fix`, which change nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.validation.fixtures import header

from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.validation.fixes import FIXABLE_RULES, fix, renamed
from skillhub_mcp.validation.moved_keys import as_under_metadata

FIXES: dict[str, tuple[str, bytes, bytes]] = {
    "frontmatter-late": ("one", ("\n \n" + header()).encode(), header().encode()),
    "yaml-repaired": (
        "one",
        b"---\nname: one # its name\ndescription: Use when: it's due\nlicense: MIT\n---\nBody: as it is\n",
        b"---\nname: one # its name\ndescription: 'Use when: it''s due'\nlicense: MIT\n---\nBody: as it is\n",
    ),
    "name-form": ("my-skill", header(name="My_Skill").encode(), header(name="my-skill").encode()),
    "key-unknown": (
        "one",
        header("# As in releases.\nversion: 1.0\nlicense: MIT\ntags: [a, b c]").encode(),
        header('# As in releases.\nmetadata:\n  version: "1.0"\n  tags: "a, b c"\nlicense: MIT').encode(),
    ),
    "file-encoding": ("one", header(description="Grüße").encode("utf-16"), header(description="Grüße").encode()),
    "file-line-ends": ("one", header().replace("\n", "\r").encode(), header().encode()),
    "frontmatter-fence": ("one", header().replace("---", "----").encode(), header().encode()),
    "yaml-words-lost": (
        "one",
        header(description="Posts to #general. Use when done. # a comment").encode(),
        header(description="'Posts to #general. Use when done. # a comment'").encode(),
    ),
}


def test_every_fixable_rule_is_tested() -> None:
    assert {*FIXES, "file-name"} == set(FIXABLE_RULES)


@pytest.mark.parametrize("rule", FIXES)
def test_a_fix_changes_nothing_else_and_settles(rule: str) -> None:
    name, before, after = FIXES[rule]
    fixed = fix(before, name)
    assert (fixed.content, fixed.rules) == (after, (rule,))
    again = fix(after, name)
    assert (again.content, again.rules) == (after, ())
    if not rule.startswith("file-"):
        windows = fix(before.replace(b"\n", b"\r\n"), name)
        assert windows.content.lstrip(b"\r\n ") == after.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_toml_header_becomes_yaml(ending: str) -> None:
    toml = '+++\nname = "one"\ndescription = "Use when: due"\ntags = ["a", "b"]\nversion = "1.10"\n+++\nBody\n'
    yaml = "---\nname: one\ndescription: 'Use when: due'\ntags:\n- a\n- b\nversion: '1.10'\n---\nBody\n"
    fixed = fix(toml.replace("\n", ending).encode(), "one", ["frontmatter-fence"])
    assert fixed.content.decode() == yaml.replace("\n", ending)


def test_several_violations_are_fixed_at_once() -> None:
    before = "\n---\nname: My Skill\ndescription: Use when: due\ncategory: x\n---\n"
    fixed = fix(before.encode("utf-16"), "my-skill")
    assert fixed.content.decode() == (
        "---\nname: my-skill\ndescription: 'Use when: due'\nmetadata:\n  category: \"x\"\n---\n"
    )
    assert fixed.rules == ("file-encoding", "frontmatter-late", "yaml-repaired", "name-form", "key-unknown")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one", header(name="Quite Another!")),  # the intended name is unknown
        ("one", header("models: [a]")),  # a key may be meant for another program
        ("one", header("model: opus\ndisable-model-invocation: true")),  # a host reads it there only
        ("one", header("desription: x")),  # the right spelling is not known
        ("one", header("version: 1.0\nmetadata:\n  version: 2.0")),  # which of the two holds is not known
        ("one", header("version: 1.0\nmetadata: {a: b}")),  # metadata would have to be rewritten
        ("one", header("version: 1.0\nversion: 2.0")),
        ("one", header("version:")),  # no text
        ("one", header("author: {name: me}")),
        ("one", header("author: [me, you]")),  # SkillHub would read an author where there was none
        ("one", header("tags: ['a, b', c]")),  # the comma could be any of two things
        ("one", header("tags:\n  - a # why\n  - b")),  # a comment would be lost
        ("one", header("version: 1.0 # why")),
        ("one", header("author: >\n  A\n  B\nlicense: MIT")),  # more than a line
        ("one", header("category: [a, b]")),
        ("one", header("metadata:\nversion: v1")),
        ("one", "---\nname: one\ndescription: x\n\n# How\n"),  # the fence could stand in several places
        ("one", "# Only a heading\n"),
        ("one", header("metadata:\n  skillhub:\n    category: x\n")),  # it is read as it is
        ("one", "---\nname: one\nand more\ndescription: Use: when due\n---\n"),  # words would be lost
        ("one", '+++\nname = "one" # why\ndescription = "x"\n+++\n'),  # a comment would be lost
        ("one", header()),
        ("one", ""),
    ],
)
def test_violations_that_need_a_guess_are_left(name: str, text: str) -> None:
    fixed = fix(text.encode(), name)
    assert (fixed.content, fixed.rules) == (text.encode(), ())


@pytest.mark.parametrize(
    ("written", "after"),
    [
        ("My Skill  # chosen by legal", "my-skill  # chosen by legal"),
        ('"My Skill" # chosen by legal', "my-skill # chosen by legal"),
        ("'My_Skill'", "my-skill"),
        ("My # Skill", "my # Skill"),
    ],
)
def test_a_comment_beside_the_name_stays(written: str, after: str) -> None:
    name = "my" if after.startswith("my #") else "my-skill"
    fixed = fix(header(name=written).encode(), name)
    assert fixed.content == header(name=after).encode()
    assert fixed.rules == ("name-form",)


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        # Below what metadata has, as far in as that, and before what follows it.
        (
            "version: 1.0\nmetadata:\n    a: b # c\n\n    d: e\n# about the license\nlicense: MIT",
            'metadata:\n    a: b # c\n\n    d: e\n    version: "1.0"\n# about the license\nlicense: MIT',
        ),
        ("tags:\n- a\n- b", 'metadata:\n  tags: "a, b"'),
        ("homepage: https://x.y\ntags: [a,\n  b]", 'metadata:\n  homepage: "https://x.y"\n  tags: "a, b"'),
        # The first can be moved although the second cannot.
        ("version: v1\nmodels: [a]", 'metadata:\n  version: "v1"\nmodels: [a]'),
        ("version: v1\nauthor: {name: me}", 'metadata:\n  version: "v1"\nauthor: {name: me}'),
        (
            "version: v1\nhomepage: x\nmetadata:\n  version: v2",
            'version: v1\nmetadata:\n  version: v2\n  homepage: "x"',
        ),
        ("category: [a, b]\nversion: '1.0'", 'category: [a, b]\nmetadata:\n  version: "1.0"'),
        ("version: v1\nmodel: opus", 'metadata:\n  version: "v1"\nmodel: opus'),
    ],
)
def test_descriptive_keys_move_under_metadata(lines: str, after: str) -> None:
    for end in ("\n", "\r\n"):
        fixed = fix(header(lines).replace("\n", end).encode(), "one")
        assert (fixed.content, fixed.rules) == (header(after).replace("\n", end).encode(), ("key-unknown",))


def read(content: bytes) -> Skill:
    skill = parse_skill(content, directory="/s/one", directory_name="one").skill
    assert skill is not None
    return skill


def test_moved_keys_are_read_as_before() -> None:
    before = header("version: 1.10\nauthor: 'me'\ntags: [a, b]\ncategory: x").encode()
    old, new = read(before), read(fix(before, "one").content)
    assert (new.version, new.author) == (old.version, old.author) == ("1.10", "me")
    assert (new.tags, new.category) == (old.tags, old.category)
    assert new.metadata == {"version": "1.10", "author": "me", "tags": "a, b", "category": "x"}
    assert [one.rule for one in new.diagnostics] == []


def test_only_selected_rules_are_fixed() -> None:
    before = "\n" + header("version: v1")
    assert (
        fix(before.encode(), "one", ["key-unknown"]).content == ("\n" + header('metadata:\n  version: "v1"')).encode()
    )
    assert fix(before.encode(), "one", ["name-form"]).rules == ()
    # Nothing can be written in an encoding that may not be fixed.
    latin = header("version: v1", description="Grüße").encode("cp1252")
    assert fix(latin, "one", ["key-unknown"]).content == latin


def test_a_byte_order_mark_stays() -> None:
    mark = b"\xef\xbb\xbf"
    _, before, after = FIXES["key-unknown"]
    assert fix(mark + before, "one").content == mark + after


_TEXT = st.text(
    st.sampled_from(
        ["a", "Ä", "名", ":", " ", "#", "'", '"', "-", "[", "]", "{", "\n", "\r", "\t", ",", "&", "*", "|", ">", "%"]
    ),
    max_size=30,
)


@given(description=_TEXT, more=_TEXT, name=_TEXT, body=_TEXT, version=_TEXT)
def test_fixing_any_header_keeps_all_values_and_settles(
    description: str, more: str, name: str, body: str, version: str
) -> None:
    before = (
        f"---\nname: {name}\ndescription: {description}\nversion: {version}\nlicense: {more}\n---\n{body}"
    ).encode()
    fixed = fix(before, "one")
    if not fixed.rules:
        assert fixed.content == before
        return
    old, new = parse(before), parse(fixed.content)
    assert new.values is not None
    assert old.values is None or as_under_metadata({**old.values, "name": ""}) == as_under_metadata(
        {**new.values, "name": ""}
    )
    assert new.body == old.body
    assert fix(fixed.content, "one").rules == ()


@given(st.binary(max_size=300))
def test_no_bytes_make_a_fix_raise(content: bytes) -> None:
    fix(content, "one")
    fix(b"---\n" + content + b"\n---\n", "one")
    renamed(content, "new")
    renamed(b"---\n" + content + b"\n---\n", "new")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\nname: old # mine\ndescription: x\n---\nText\n", '---\nname: "1e3" # mine\ndescription: x\n---\nText\n'),
        ("---\r\nname: 'old'\r\ndescription: x\r\n---\r\n", '---\r\nname: "1e3"\r\ndescription: x\r\n---\r\n'),
        ("---\ndescription: x\n---\nNamed by its directory.\n", "---\ndescription: x\n---\nNamed by its directory.\n"),
    ],
    ids=["comment", "line ends", "no name"],
)
def test_renaming_changes_only_the_name(before: str, after: str) -> None:
    assert renamed(before.encode(), "1e3") == after.encode()


@pytest.mark.parametrize("content", [b"", b"no header", "---\nname: old\n---\n".encode("utf-16")])
def test_a_name_that_cannot_be_replaced_alone_is_kept(content: bytes) -> None:
    assert renamed(content, "new") is None
