"""Every promise of SECURITY.md names the tests that hold it, and each of them exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SECURITY = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
_TEST = re.compile(r"`([\w/]+\.py(?:::\w+)+)`")


def promises() -> Iterator[str]:
    """Yield every row and every bullet of the sections before the one that says what is not defended."""
    promised, _, _ = SECURITY.partition("\n## What is not defended")
    for paragraph in re.split(r"\n\n|\n(?=[|-])", promised):
        if paragraph.startswith("- ") or re.match(r"\| (?!threat \|)", paragraph):
            yield paragraph


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the tests of a file below this directory, of a class as `Class::test`; none where there is no file."""
    path = TESTS / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    return frozenset(_names(tree.body, ""))


def _names(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name


@pytest.mark.parametrize("promise", list(promises()), ids=lambda promise: promise[:40])
def test_a_promise_names_the_tests_that_hold_it(promise: str) -> None:
    named = _TEST.findall(promise)
    assert named
    missing = [name for name in named if name.partition("::")[2] not in names_in(name.partition("::")[0])]
    assert missing == []


def test_the_promises_are_found() -> None:
    found = list(promises())
    assert any("YAML bombs" in promise for promise in found)
    assert any("**A revoked token**" in promise for promise in found)
