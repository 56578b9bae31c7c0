"""Imperfect frontmatter: a skill is served if its name and description can be read."""

from __future__ import annotations

import pytest

from skillhub_mcp.skills.frontmatter import parse
from skillhub_mcp.skills.parser import parse_skill
from skillhub_mcp.validation.fixes import fix


def skill(description: str, more: str = "") -> str:
    return f"---\nname: planner\ndescription: {description}\n{more}---\nBody.\n"


PLAIN = skill("Plans a week.")

WORDS_LOST = {
    "hash-within": ("Posts to #general when done.", "Posts to #general when done."),
    "hash-first": ("#1 tool for notes. Use daily.", "#1 tool for notes. Use daily."),
    "bang": ("!urgent checks first.", "!urgent checks first."),
    "bangs": ("!!! Read this first.", "!!! Read this first."),
    "bangs-and-word": ("!!important notes.", "!!important notes."),
    "bang-over-lines": ("!urgent checks\n  before all.", "!urgent checks before all."),
    "ampersand": ("&co helps. Use it.", "&co helps. Use it."),
}

QUOTING = {
    "words-behind-quotes": ('"Think twice" - asks first.', '"Think twice" - asks first.'),
    "two-quotations": ('"Save" or "Undo"', '"Save" or "Undo"'),
    "quotes-within-quotes": ('"Use when told "go" or "stop" now."', 'Use when told "go" or "stop" now.'),
    "quotes-within-quotes-over-lines": ('"Use when told\n  "go" now."', 'Use when told "go" now.'),
    "apostrophe": ("'Writes the user's notes.'", "Writes the user's notes."),
    "apostrophes-of-plurals": ("'Reads users' notes. Sorts users' notes.'", "Reads users' notes. Sorts users' notes."),
    "quote-not-closed": ('"Starts a quote. Use it.', "Starts a quote. Use it."),
    "regular-expression": (r'"Finds \d+ and \w."', r"Finds \d+ and \w."),
    "surrogate": (r'"Finds \ud800."', r"Finds \ud800."),
    "brackets": ("[Draft] Plans a week.", "[Draft] Plans a week."),
    "braces": ("{name} y of a template.", "{name} y of a template."),
    "folded-on-the-line": ("> Plans a week.", "Plans a week."),
    "folded-and-more": ("> Plans a week.\n  And a month.", "Plans a week. And a month."),
    "literal-on-the-line": ("| Plans a week.", "Plans a week."),
    "literal-not-indented": ("|\nPlans a week.\nOr more.", "Plans a week. Or more."),
    "colon": ("Use for: planning", "Use for: planning"),
    "not-indented": ("Use for: planning\nand more.", "Use for: planning and more."),
    "hash-over-lines": ("Posts to #general\n  when done.", "Posts to #general when done."),
    "alias": ("*bold* claims", "*bold* claims"),
    "at-sign": ("@handle does it", "@handle does it"),
    "backtick": ("`code` does it", "`code` does it"),
    "percent": ("%percent", "%percent"),
    "hyphen": ("- a: b", "- a: b"),
    "colon-over-lines": ("first\n  then: this", "first then: this"),
    "bell": ("a bell \x07 rings", "a bell   rings"),
    "line-separator": ("one\u2028two", "one\u2028two"),
}

OPTIONAL = {
    "glob-in-a-list": ("paths:\n  - **/*.py\n  - docs/*\n", "paths", ["**/*.py", "docs/*"]),
    "nested-colon": ("metadata:\n  hint: see: this\n  author: me\n", "metadata", {"hint": "see: this", "author": "me"}),
    "tabs": ("metadata:\n\tauthor: me\n\tteam: us\n", "metadata", {"author": "me", "team": "us"}),
    "open-quote": ("license: 'MIT\n", "license", "MIT"),
    "open-list": ('allowed-tools: [Read, "Write\n', "allowed-tools", '[Read, "Write'),
    "open-map": ("metadata: {a: [b}\n", "metadata", "{a: [b}"),
}

BEFORE = {
    "sentence": "Here is the skill:\n\n" + PLAIN,
    "html-comment": "<!-- made\nby a tool -->\n" + PLAIN,
    "remark": "# Copyright 2024 me\n" + PLAIN,
    "heading": "# Planner\n\n" + PLAIN,
    "code-block": "```markdown\n" + PLAIN + "```\n",
    "code-block-of-the-header": PLAIN.replace("Body.\n", "```\nBody.\n").replace("---\nname", "```yaml\n---\nname"),
    "indentation": "\n".join(f"  {line}" for line in PLAIN.splitlines()[:4]) + "\nBody.\n",
    "zero-width": "\u200b" + PLAIN,
    "second-mark": "\ufeff\ufeff" + PLAIN,
}

OTHER_FENCES = {"four-hyphens": PLAIN.replace("---", "----"), "plus-signs": PLAIN.replace("---", "+++")}

MISPLACED_BLANKS = {
    "tab-behind-the-colon": PLAIN.replace(": ", ":\t").replace("---\nB", "x: y: z\n---\nB"),
    "no-break-space": PLAIN.replace(": ", ":\u00a0"),
    "no-blank": PLAIN.replace(": ", ":"),
    "wide-colon": PLAIN.replace(": ", "\uff1a"),
    "first-key-indented": PLAIN.replace("name:", " name:"),
    "second-key-indented": PLAIN.replace("description:", "  description:"),
}


@pytest.mark.parametrize(("written", "meant"), WORDS_LOST.values(), ids=WORDS_LOST)
def test_words_that_yaml_would_drop_are_served_with_a_warning(written: str, meant: str) -> None:
    document = parse(skill(written).encode())
    assert document.values == {"name": "planner", "description": meant}
    assert [(found.rule, found.line) for found in document.diagnostics] == [("yaml-words-lost", 3)]


@pytest.mark.parametrize("written", ["Plans. # a remark", "!!str Plans.", "'Plans.' #remark"])
def test_yaml_comments_and_tags_are_not_text(written: str) -> None:
    document = parse(skill(written).encode())
    assert document.values == {"name": "planner", "description": "Plans."}
    assert document.diagnostics == ()


@pytest.mark.parametrize(("written", "meant"), QUOTING.values(), ids=QUOTING)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_quoting_mistake_does_not_cost_the_skill(written: str, meant: str, line_break: str) -> None:
    text = skill(written, "license: MIT\n").replace("\n", line_break)
    document = parse(text.encode())
    assert document.values == {"name": "planner", "description": meant, "license": "MIT"}
    assert [found.rule for found in document.diagnostics] == ["yaml-repaired"]


@pytest.mark.parametrize(("lines", "key", "value"), OPTIONAL.values(), ids=OPTIONAL)
def test_a_broken_optional_line_never_costs_the_skill(lines: str, key: str, value: object) -> None:
    document = parse(skill("Plans a week.", lines).encode())
    assert document.values == {"name": "planner", "description": "Plans a week.", key: value}
    assert [found.rule for found in document.diagnostics] == ["yaml-repaired"]


@pytest.mark.parametrize("text", BEFORE.values(), ids=BEFORE)
def test_text_before_the_frontmatter_is_skipped_and_reported(text: str) -> None:
    document = parse(text.encode())
    assert document.values == {"name": "planner", "description": "Plans a week."}
    assert document.body == "Body.\n"
    assert [found.rule for found in document.diagnostics] == ["frontmatter-late"]


@pytest.mark.parametrize("text", ["Title\n---\nNote: this\n---\n", "A line.\n\n---\n\nAnother.\n\n---\n"])
def test_a_rule_between_paragraphs_is_not_frontmatter(text: str) -> None:
    assert [found.rule for found in parse(text.encode()).diagnostics] == ["frontmatter-missing"]


@pytest.mark.parametrize("text", OTHER_FENCES.values(), ids=OTHER_FENCES)
def test_other_fences_are_read_and_reported(text: str) -> None:
    document = parse(text.encode())
    assert document.values == {"name": "planner", "description": "Plans a week."}
    assert document.body == "Body.\n"
    assert [found.rule for found in document.diagnostics] == ["frontmatter-fence"]


def test_frontmatter_in_toml_is_read() -> None:
    document = parse(
        b'+++\nname = "planner"\ndescription = "Plans."\ntags = ["a", "b"]\nuser-invocable = false\n+++\nB'
    )
    assert document.values == {
        "name": "planner",
        "description": "Plans.",
        "tags": ["a", "b"],
        "user-invocable": "false",
    }
    assert document.lines == {"name": 2, "description": 3, "tags": 4, "user-invocable": 5}


@pytest.mark.parametrize("text", MISPLACED_BLANKS.values(), ids=MISPLACED_BLANKS)
def test_tabs_odd_blanks_and_indentation_do_not_cost_the_skill(text: str) -> None:
    values = dict(parse(text.encode()).values or {})
    values.pop("x", None)
    assert values == {"name": "planner", "description": "Plans a week."}


FIXED = [
    *(skill(written) for written, _ in (*WORDS_LOST.values(), *QUOTING.values())),
    *(skill("Plans a week.", lines) for lines, _, _ in OPTIONAL.values()),
    *(text for name, text in BEFORE.items() if name != "sentence"),
    *OTHER_FENCES.values(),
    *MISPLACED_BLANKS.values(),
    PLAIN.replace("\n", "\r"),
    skill("Plant Übungen."),
]


@pytest.mark.parametrize("text", FIXED)
def test_a_fixed_file_is_valid_and_says_the_same(text: str) -> None:
    before = parse(text.encode())
    after = parse(fix(text.encode(), "planner").content)
    assert (after.values, after.body) == (before.values, before.body)
    assert after.diagnostics == ()


def test_sentences_before_the_frontmatter_are_kept() -> None:
    text = BEFORE["sentence"].encode()
    assert fix(text, "planner").content == text


def test_tags_and_tools_of_a_repaired_list_have_no_brackets() -> None:
    content = skill("Plans.", "tags: [next,@x/y]\nallowed-tools: [Bash(git:*), Read\n").encode()
    found = parse_skill(content, directory="/planner", directory_name="planner").skill
    assert found is not None
    assert (found.tags, found.allowed_tools) == (("next", "@x/y"), ("Bash(git:*)", "Read"))
