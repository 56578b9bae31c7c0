"""How does a tool look in `tools/list`? With the words that we chose for it, and nothing that would cost every turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.tools.function_tool import FunctionTool
from mcp_types import Tool as WireTool
from mcp_types import ToolAnnotations

Function = TypeVar("Function", bound=Callable[..., Any])

# A host that loads tools only when it needs them shows this one always: without it no other is ever called.
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class _Tool(FunctionTool):
    def to_mcp_tool(self, **overrides: Any) -> WireTool:
        """Return it without the marks that FastMCP would add."""
        return super().to_mcp_tool(**{"_meta": self.meta, **overrides})


def offered(
    server: FastMCP,
    *,
    title: str,
    description: str,
    annotations: ToolAnnotations = READS,
    output_schema: dict[str, Any] | None = None,
    name: str | None = None,
    meta: dict[str, Any] | None = None,
) -> Callable[[Function], Function]:
    """Register the function below as a tool of `server`. Without `output_schema`, its answer is text alone."""

    def register(function: Function) -> Function:
        made = _Tool.from_function(
            function,
            name=name,
            title=title,
            description=description,
            annotations=annotations,
            output_schema=output_schema,
            meta=meta,
        )
        for argument in made.parameters["properties"].values():
            # That it may be left out is said by its not being required, and nothing, no and the least need no telling.
            if argument.get("default", "told") in (None, False, argument.get("minimum")):
                argument.pop("default")
        server.add_tool(made)
        return function

    return register
