"""Hubs for tests, made the way the program makes them: from an environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings, read_settings


def settings_from(environment: Mapping[str, str]) -> Settings:
    """Return the settings of `environment`, which may have options of `serve`, such as `--workers`."""
    options = {name: text for name, text in environment.items() if name.startswith("--")}
    return read_settings(environment, options)[0]


def arguments_from(environment: Mapping[str, str]) -> list[str]:
    """Return the options of `serve` in `environment` as they are typed."""
    typed: list[str] = []
    for name, text in environment.items():
        if name.startswith("--"):
            typed += [name, text] if name == "--workers" else [name]
    return typed


@contextmanager
def hub_of(environment: Mapping[str, str], *, background: bool = False) -> Iterator[SkillHub]:
    """Yield the hub that `environment` describes, and close it."""
    settings = settings_from(environment)
    hub = make_hub(settings, background=background)
    try:
        yield hub
    finally:
        hub.close()
