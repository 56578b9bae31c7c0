"""The route /metrics: numbers only, for the hosts of /mcp, and on a server with authentication for bearers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastmcp import FastMCP
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillhub_mcp.server.http.front_page import FrontPage

Exposition = Callable[[str], tuple[bytes, str]]


def metrics_route(
    server: FastMCP, exposition: Exposition, page: FrontPage, *, middleware: Sequence[Middleware]
) -> Route:
    """Return the route, behind `middleware`: the guard of Host and Origin, and what finds out who asks.

    `exposition` returns the numbers in the format that an Accept header asks for, and its media type. `page` tells who
    has no token how to get in.
    """

    def metrics(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return page.unauthorized(request.scope)
        body, media_type = exposition(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    return Route("/metrics", metrics, middleware=middleware)
