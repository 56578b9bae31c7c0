"""Tests that a document names: which there are, and which of those that it names do not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
_TEST = re.compile(r"`([\w/]+\.py(?:::\w+)+)`")


def named_in(text: str) -> list[str]:
    """Return the tests that a text names, as `folder/file.py::test` or `folder/file.py::Class::test`."""
    return _TEST.findall(text)


def missing(names: list[str]) -> list[str]:
    """Return those that are no tests below this directory."""
    return [name for name in names if name.partition("::")[2] not in _names_in(name.partition("::")[0])]


@cache
def _names_in(file: str) -> frozenset[str]:
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
