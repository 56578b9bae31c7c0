"""The route /metrics: numbers only, and on a server with authentication only for bearers of a token."""

from __future__ import annotations

from collections.abc import Callable

from fastmcp import FastMCP
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Exposition = Callable[[str], tuple[bytes, str]]


def metrics_route(server: FastMCP, exposition: Exposition) -> Route:
    """Return the route, which belongs beside the probes: a scraper addresses the server by its IP too.

    `exposition` returns the numbers in the format that an Accept header asks for, and its media type.
    """

    def metrics(request: Request) -> Response:
        if server.auth is not None and not request.user.is_authenticated:
            return Response(status_code=401, headers={"www-authenticate": "Bearer"})
        body, media_type = exposition(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": media_type})

    bearers = [] if server.auth is None else server.auth.get_middleware()
    return Route("/metrics", metrics, middleware=bearers)
