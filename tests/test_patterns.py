"""No text makes a regular expression, or a loop over what it finds, take more than steps in proportion to its length.

Steps are counted, not timed: `tests/regex_steps.py` walks a pattern as `re` does. A new pattern is tried by itself.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.regex_steps import (
    MOST_STEPS,
    Attack,
    CountedPattern,
    CountedText,
    CountingPattern,
    Work,
    attacks_on,
    is_endless,
    largest_bound,
)

import skillhub_mcp
from skillhub_mcp.agents_md import reminders
from skillhub_mcp.disclosure import mentions
from skillhub_mcp.skills.rules import Diagnostic
from skillhub_mcp.validation import advice

PACKAGE = Path(skillhub_mcp.__file__).parent
# Twice the text takes twice the steps, and a little more where a pattern has a beginning of its own.
IN_PROPORTION = 2.4
LOOKS_ANYWHERE = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
LOOKS_AT_ONE_PLACE = frozenset({"match", "fullmatch"})


@dataclass(frozen=True)
class Used:
    """A pattern of the program, where it is, and whether it is looked for anywhere in a text."""

    place: str
    pattern: re.Pattern[Any]
    search: bool


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] not in ("__init__", "__main__"):
            yield ".".join(parts), ast.parse(file.read_text(encoding="utf-8"))


def _is_compiled_later(value: Any) -> bool:
    function = getattr(value, "__wrapped__", None)
    returned = getattr(function, "__annotations__", {}).get("return")
    return function is not None and returned == "re.Pattern[str]" and not function.__code__.co_argcount


def all_patterns() -> list[Used]:
    trees = dict(modules())
    calls: list[Any] = [node for tree in trees.values() for node in ast.walk(tree) if _is_method(node)]
    searched = {_owner(call) for call in calls if call.func.attr in LOOKS_ANYWHERE}
    matched = {_owner(call) for call in calls if call.func.attr in LOOKS_AT_ONE_PLACE}
    found: dict[tuple[object, int], Used] = {}
    for module in trees:
        for name, value in vars(importlib.import_module(module)).items():
            # Some are compiled when they are needed.
            made = value() if _is_compiled_later(value) else value
            for pattern in made if isinstance(made, tuple) else (made,):
                if isinstance(pattern, re.Pattern):
                    used = Used(f"{module}.{name}", pattern, name in searched or name not in matched)
                    found.setdefault((pattern.pattern, pattern.flags), used)
    for call in calls:
        if _owner(call) == "re" and call.args:
            source = _source(call.args[0])
            if source is not None:
                used = Used(f"line {call.lineno}", re.compile(source), call.func.attr in LOOKS_ANYWHERE)
                found.setdefault((source, used.pattern.flags), used)
    return list(found.values())


def _is_method(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOOKS_ANYWHERE | LOOKS_AT_ONE_PLACE
    )


def _owner(call: Any) -> str:
    return call.func.value.id if isinstance(call.func.value, ast.Name) else ""


def _source(written: ast.expr) -> str | bytes | None:
    """Return a pattern as it is written, with an "x" for what is put into it."""
    if isinstance(written, ast.Constant) and isinstance(written.value, (str, bytes)):
        return written.value
    if isinstance(written, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in written.values)
    return None


def out_of_proportion(used: Used) -> str | None:
    """Return an attack that takes more than its share, or None."""
    counted = CountedPattern(used.pattern)
    times = max(12, 2 * largest_bound(used.pattern))
    attacks = attacks_on(used.pattern)
    for tried in dict.fromkeys(Attack("", one.pump) for one in attacks) if used.search else attacks:
        once, twice = (counted.steps_of(tried.text(many), search=used.search) for many in (times, 2 * times))
        if twice >= MOST_STEPS or twice > IN_PROPORTION * once:
            return f"{used.place}: {tried} takes {once:,} steps, and {twice:,} when it is twice as long"
    return None


@pytest.mark.slow
def test_no_text_makes_a_pattern_take_more_than_its_share() -> None:
    endless = [used for used in all_patterns() if is_endless(used.pattern, search=used.search)]
    assert len(endless) > 30
    assert [found for found in map(out_of_proportion, endless) if found] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "search"),
    [
        (r"\]\(\s*<?([^)<>\s]+)>?\)", True),  # each beginning is looked for to the end
        (r"\s+$", True),
        (r"(?:a|aa)+b", False),
        (r"(\w+\s?)*!", False),
        (r"\d+\d+x", False),
        (r".*=.*;", False),
    ],
)
def test_a_pattern_that_backtracks_is_found(pattern: str, search: bool) -> None:
    assert out_of_proportion(Used("here", re.compile(pattern), search)) is not None


@pytest.mark.parametrize("pattern", [r"[a-z]+(?:-[a-z]+)*", r"\w+\b", r'"(?:[^"\\]|\\.)*"', r"(?<!x)x{2,}y"])
def test_a_pattern_that_does_not_is_not(pattern: str) -> None:
    assert out_of_proportion(Used("here", re.compile(pattern), search=False)) is None


RESUMED = '<system-reminder type="session.resume.diff">\n'


def _advice(text: str) -> list[Diagnostic]:
    return list(advice.reference_advice(text, 1, {"own/a.md", "own/b/c.md"}))


LOOPS: list[tuple[str, Callable[[str], object], list[str]]] = [
    (
        "advice",
        _advice,
        ["[x](", '](a "', "``` ", "```\n[x](a.md)\n```\n", "references/", "x/references/a.md ",
         "./references/", "own/%d.md", "references/%d.md ", "[x](%d/y.md)", "like references/%d.md\t"],
    ),
    ("mentions", lambda text: list(mentions._mentions(text)), ["[$a", "[$a](", "[$a](b)", "$a:", "a/", "~/SKILL.md"]),
    ("reminders", lambda text: reminders.trim_output(text, 10), ["<system-reminder </system-reminder>", "\n", "\n<"]),
    (
        "reminders_resumed",
        lambda text: reminders.replace_resume_reminder(text, ""),
        ["\n", RESUMED, f"{RESUMED}x\n</system-reminder>"],
    ),
]  # fmt: skip


def repeated(text: str, times: int) -> str:
    """Return a text many times, numbered at %d; between two "§" only what is there is repeated."""
    before, pump, after = text.split("§", 2) if "§" in text else ("", text, "")
    return before + "".join(pump.replace("%d", str(10_000 + at)) for at in range(times)) + after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work_of", "texts"), [(run, texts) for _, run, texts in LOOPS], ids=[name for name, *_ in LOOPS]
)
def test_a_text_twice_as_long_takes_twice_the_work(
    work_of: Callable[[str], object], texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    for module in (advice, mentions, reminders):
        for name, pattern in list(vars(module).items()):
            if isinstance(pattern, re.Pattern):
                monkeypatch.setattr(module, name, CountingPattern(pattern, work))

    def counted(text: str) -> int:
        work.done = 0
        # A coverage tool or a debugger may be listening.
        before = sys.gettrace()
        sys.settrace(work.trace)
        try:
            work_of(CountedText.of(text, work))
        finally:
            sys.settrace(before)
        return work.done

    for text in texts:
        once, twice = (repeated(text, many) for many in (16, 32))
        assert counted(twice) <= IN_PROPORTION * counted(once) + 200, text


def test_files_are_looked_for_in_texts_of_bounded_length_only(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"SKILL.md": "Run tool.py and see other-notes, then a b."}
    files = [f"a{number} b.md" for number in range(100)]
    told = list(advice.unreferenced_advice(["tool.py", "notes.md", *files], texts))
    assert len(told) == 101
    monkeypatch.setattr(advice, "_MOST_CHARACTERS", 10)
    assert list(advice.unreferenced_advice(["tool.py", *files], texts)) == []
