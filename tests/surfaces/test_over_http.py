"""What each route of the HTTP server tells of a skill: most nothing, and the others only values of one line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from starlette.routing import Mount, Route
from tests.hubs import hub_of, settings_from
from tests.server.connections import listening
from tests.surfaces.findings import values, wrong_in_a_value
from tests.surfaces.library import PAYLOADS

from skillhub_mcp.bootstrap.hub import make_metrics
from skillhub_mcp.bootstrap.server import http_options, server_options
from skillhub_mcp.server.app import make_server
from skillhub_mcp.server.http.app import make_http_app

# `/mcp` speaks MCP: what it answers is in `test_over_mcp`.
ROUTES = {"/healthz", "/readyz", "/metrics", "/mcp"}
INDEX = "/.well-known/agent-skills/index.json"
# These give the files of a skill as they are, to whoever installs them.
FILES = {"/.well-known/agent-skills/{name}.zip", "/.well-known/agent-skills/{name}/SKILL.md"}


def routes(app: Any) -> Iterator[str]:
    """The paths of the routes of an application, and of those that it wraps or mounts."""
    for route in getattr(app, "routes", ()):
        if isinstance(route, Mount):
            yield from routes(route.app)
        elif isinstance(route, Route):
            yield route.path
    if not isinstance(getattr(app, "routes", None), list):
        for name in ("app", "_app"):
            if hasattr(app, name):
                yield from routes(getattr(app, name))


@pytest.mark.slow
def test_every_route_is_known_and_reveals_no_skill(hostile: dict[str, str]) -> None:
    environment = {**hostile, "SKILLHUB_METRICS": "1", "SKILLHUB_WELL_KNOWN": "1"}
    settings = settings_from(environment)
    with hub_of(environment) as hub:
        server = make_server(hub, server_options(settings, hub, over_http=True))
        options = http_options(settings, host="127.0.0.1", port=0, metrics=make_metrics(settings))
        assert set(routes(make_http_app(server, hub, options))) == {*ROUTES, INDEX, *FILES}
    with listening(environment) as url:
        top = url.removesuffix("/mcp")
        for path in ROUTES:
            text = httpx2.get(top + path).text
            assert text
            assert [payload.id for payload in PAYLOADS if payload.word in text] == [], path
        index = httpx2.get(top + INDEX).json()
    assert len(index["skills"]) > len(PAYLOADS) // 2
    for value in values(index):
        assert not wrong_in_a_value(value), value
