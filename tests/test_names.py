"""One name means one thing: `docs/concepts.md` promises it, and this holds public classes and type aliases to it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import skillhub_mcp

PACKAGE = Path(skillhub_mcp.__file__).parent


def public_names(module: ast.Module) -> Iterator[str]:
    """Yield the public classes of a module, and what it assigns to a name that is written like a class's."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from (name for name in names if name[0].isupper() and not name.isupper())


@pytest.mark.slow
def test_no_two_public_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in public_names(ast.parse(path.read_text("utf-8"))):
            if not name.startswith("_"):
                places[name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_two_modules_share_a_name_within_a_package() -> None:
    """A module beside a package of the same name would be two things by one import path."""
    modules = {path.with_suffix("") for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    assert [str(path) for path in sorted(modules) if path.is_dir()] == []
