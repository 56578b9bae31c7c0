"""The parameters of middleware methods: the request, and the function that passes it on."""

from __future__ import annotations

from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, MiddlewareContext

Next = CallNext[Any, Any]
AnyRequest = MiddlewareContext[Any]
Initialize = MiddlewareContext[mcp_types.InitializeRequest]
Discover = MiddlewareContext[mcp_types.DiscoverRequest]
ListTools = MiddlewareContext[mcp_types.ListToolsRequest]
CallTool = MiddlewareContext[mcp_types.CallToolRequestParams]
GetPrompt = MiddlewareContext[mcp_types.GetPromptRequestParams]
ReadResource = MiddlewareContext[mcp_types.ReadResourceRequestParams]
