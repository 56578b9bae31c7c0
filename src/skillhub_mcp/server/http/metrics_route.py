"""The route /metrics: numbers only, and on a server with authentication only for bearers of a token."""

from __future__ import annotations

from collections.abc import Callable

from fastmcp import FastMCP
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillhub_mcp.server.http.front_page import FrontPage

Exposition = Callable[[str], tuple[bytes, str]]


def metrics_route(server: FastMCP, exposition: Exposition, page: FrontPage) -> Route:
    """Return the route, which belongs beside the probes: a scraper addresses the server by its IP too.

    `exposition` returns the numbers in the format that an Accept header asks for, and its media type. `page` tells who
    has no token how to get in.
    """

    def metrics(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return page.unauthorized(request.scope)
        body, media_type = exposition(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    bearers = [] if server.auth is None else server.auth.get_middleware()
    return Route("/metrics", metrics, middleware=bearers)
