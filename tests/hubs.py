"""Hubs for tests, made the way the program makes them: from an environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import read_settings


@contextmanager
def hub_of(environment: Mapping[str, str], *, background: bool = False) -> Iterator[SkillHub]:
    """Yield the hub that `environment` describes, and close it."""
    settings, _ = read_settings(environment)
    hub = make_hub(settings, background=background)
    try:
        yield hub
    finally:
        hub.close()
