"""Every line of SECURITY.md that promises something has tests that hold it, and each of them exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from skillhub_mcp._util.safe_toml import read_toml

TESTS = Path(__file__).parent
PROMISED, _, _ = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8").partition("\n## What is not defended")
PROMISES = re.findall(r"^- \*\*(.+?)\*\*", PROMISED, re.MULTILINE)
HELD_BY = read_toml((TESTS / "security_promises.toml").read_text(encoding="utf-8"), most_characters=200_000)


def test_every_promise_has_tests_and_no_tests_are_left_without_one() -> None:
    assert len(PROMISES) > 40
    assert sorted(HELD_BY) == sorted(PROMISES)


@cache
def names_in(file: str) -> set[str]:
    """Return the tests of a file below this directory, those of a class as `Class::test`."""
    path = TESTS / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    scopes: list[tuple[str, ast.Module | ast.ClassDef]] = [("", tree)]
    scopes += [(f"{one.name}::", one) for one in tree.body if isinstance(one, ast.ClassDef)]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {prefix + one.name for prefix, scope in scopes for one in scope.body if isinstance(one, functions)}


@pytest.mark.parametrize("promise", sorted(HELD_BY))
def test_the_tests_behind_a_promise_exist(promise: str) -> None:
    named = HELD_BY[promise]
    assert named
    assert [name for name in named if name.partition("::")[2] not in names_in(name.partition("::")[0])] == []
