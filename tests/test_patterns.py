"""No text makes a regular expression, or a loop over what it finds, take more than time in proportion to its length."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.child_patterns import LENGTH, first_endless, search_texts

import skillhub_mcp
from skillhub_mcp.agents_md import reminders
from skillhub_mcp.disclosure import mentions
from skillhub_mcp.validation import advice

PACKAGE = Path(skillhub_mcp.__file__).parent
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


@pytest.mark.slow
def test_no_pattern_takes_superlinear_time() -> None:
    searches = [(used.place, used.pattern, used.search) for used in all_patterns() if "auditing" not in used.place]
    assert len(searches) > 100
    assert first_endless(search_texts, searches) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "anywhere"), [(r"\]\(\s*<?([^)<>\s]+)>?\)", True), (r"\s+$", True), (r"(\w+\s?)*!", False)]
)
def test_a_pattern_that_backtracks_is_found(pattern: str, anywhere: bool) -> None:
    search = ("here", re.compile(pattern), anywhere)
    assert first_endless(search_texts, [search], seconds=1.5) == search


RESUMED = '<system-reminder type="session.resume.diff">\n'


LOOPS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "advice": (
        lambda text: list(advice.reference_advice(text, 1, {"own/a.md", "own/b/c.md"})),
        ["[x](", '](a "', "``` ", "```\n[x](a.md)\n```\n", "references/", "x/references/a.md ",
         "./references/", "own/%d.md", "references/%d.md ", "[x](%d/y.md)", "like references/%d.md\t"],
    ),
    "mentions": (
        lambda text: mentions.resolve_mentions(text, [], cwd="/"),
        ["[$a", "[$a](", "[$a](b)", "$a:", "a/", "~/SKILL.md"],
    ),
    "reminders": (
        lambda text: reminders.trim_output(text, 10), ["<system-reminder </system-reminder>", "\n", "\n<"]
    ),
    "reminders resumed": (
        lambda text: reminders.replace_resume_reminder(text, ""),
        ["\n", RESUMED, f"{RESUMED}x\n</system-reminder>"],
    ),
}  # fmt: skip


def work_on(case: tuple[str, str]) -> None:
    name, pump = case
    LOOPS[name][0]("".join(pump.replace("%d", str(10_000 + at)) for at in range(LENGTH // len(pump))))


@pytest.mark.slow
def test_loops_over_matches_take_linear_time() -> None:
    assert first_endless(work_on, [(name, pump) for name, (_, pumps) in LOOPS.items() for pump in pumps]) is None


def test_file_references_are_searched_in_bounded_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"SKILL.md": "Run tool.py and see other-notes, then a b."}
    files = [f"a{number} b.md" for number in range(100)]
    found = list(advice.unreferenced_advice(["tool.py", "notes.md", *files], texts))
    assert len(found) == 101
    monkeypatch.setattr(advice, "_MOST_CHARACTERS", 10)
    assert list(advice.unreferenced_advice(["tool.py", *files], texts)) == []
