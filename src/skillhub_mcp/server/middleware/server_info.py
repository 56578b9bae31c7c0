"""The server's title, icon and website for display, sent once, when a client connects.

The 2026-07-28 protocol repeats the server's name and version in every answer. The rest is only in the answer to
`server/discover`.
"""

from __future__ import annotations

import base64
from typing import Any

import mcp_types
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types import SERVER_INFO_META_KEY, Icon, Implementation

from skillhub_mcp.version import homepage

TITLE = "SkillHub: expert skills for agents"

# A hub, and three skills around it.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">'
    '<path d="M12 12 5 5M12 12 19 5M12 12v8" stroke="#2b7a78" stroke-width="2"/>'
    '<g fill="#17252a"><circle cx="12" cy="12" r="4"/><circle cx="5" cy="5" r="3"/>'
    '<circle cx="19" cy="5" r="3"/><circle cx="12" cy="20" r="3"/></g></svg>'
)
_MEDIA_TYPE = "image/svg+xml"


class ServerInfoMiddleware(Middleware):
    """Adds to the server's name and version a title, an icon and the project's homepage, if it has one."""

    async def on_initialize(
        self,
        context: MiddlewareContext[mcp_types.InitializeRequest],
        call_next: CallNext[mcp_types.InitializeRequest, mcp_types.InitializeResult | None],
    ) -> mcp_types.InitializeResult | None:
        result = await call_next(context)
        return result and result.model_copy(update={"server_info": _described(result.server_info)})

    async def on_discover(
        self,
        context: MiddlewareContext[mcp_types.DiscoverRequest],
        call_next: CallNext[mcp_types.DiscoverRequest, Any],
    ) -> Any:
        result = await call_next(context)
        if not isinstance(result, mcp_types.DiscoverResult):
            return result
        meta = dict(result.meta or {})
        plain = Implementation.model_validate(meta[SERVER_INFO_META_KEY])
        meta[SERVER_INFO_META_KEY] = _described(plain).model_dump(mode="json", by_alias=True, exclude_none=True)
        return result.model_copy(update={"meta": meta})


def _described(plain: Implementation) -> Implementation:
    encoded = base64.b64encode(_ICON.encode()).decode()
    icon = Icon(src=f"data:{_MEDIA_TYPE};base64,{encoded}", mime_type=_MEDIA_TYPE, sizes=["any"])
    return plain.model_copy(update={"title": TITLE, "icons": [icon], "website_url": homepage()})
