"""Which hub does a command work on? The one that its options and the environment describe, closed when it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from skillhub_mcp.bootstrap import make_hub
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import terminal_progress
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import read_settings


@contextmanager
def open_hub(options: Mapping[str, str]) -> Iterator[SkillHub]:
    """Yield a hub without background threads. Raises InvalidSetting.

    A command's answer is its output: only warnings are logged beside it, unless LOG_LEVEL says otherwise.
    """
    settings, origins = read_settings(os.environ, options)
    chosen = any(origin.setting.name == "LOG_LEVEL" and origin.source != "default" for origin in origins)
    log_to_stderr(settings.observability.log_level if chosen else "WARNING", settings.observability.log_format)
    hub = make_hub(settings, background=False, progress=terminal_progress())
    try:
        yield hub
    finally:
        hub.close()
