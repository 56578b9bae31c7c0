"""The server uses no private name of FastMCP, the SDK or uvicorn: any release of these may remove it."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "src" / "skillhub_mcp" / "server").rglob("*.py"))

# Documented, in spite of the underscore.
DOCUMENTED = {"_replace", "_fields", "_asdict", "_exit"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_private_name_of_a_library_is_used() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    own: set[str] = set()
    for _, node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            own.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    used = [
        f"{path.name}:{node.lineno} {node.attr}"
        for path, node in nodes
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own | DOCUMENTED
    ]
    imported = [
        f"{path.name}:{node.lineno} {name.name}"
        for path, node in nodes
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("skillhub_mcp")
        for name in node.names
        if is_private(name.name) and node.module != "_typeshed"
    ]
    assert used + imported == []
