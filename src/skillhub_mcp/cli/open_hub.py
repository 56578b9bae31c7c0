"""The hub of a command: made from its options and the environment, and closed when the command ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.cli.console import print_note, terminal_progress
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.diagnosis.installation import with_publication
from skillhub_mcp.disclosure.lookup import NOTHING_SERVED
from skillhub_mcp.errors import IndexUnavailable, SkillNotFound
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.settings import Settings, read_settings
from skillhub_mcp.skills.model import sentences


@contextmanager
def open_hub(options: Mapping[str, str], *, log_level: str = "WARNING") -> Iterator[SkillHub]:
    """Yield a hub without background threads, which reports its progress to the terminal.

    If no skill is served, SkillNotFound says why, with the paths. `log_level` counts unless SKILLHUB_LOG_LEVEL is set.
    Raises InvalidSetting.
    """
    settings, sources = read_settings(os.environ, options)
    chosen = any(source.setting.name == "SKILLHUB_LOG_LEVEL" and source.source != "default" for source in sources)
    log_to_stderr(settings.observability.log_level if chosen else log_level, settings.observability.log_format)
    with terminal_progress() as progress:
        hub = make_hub(settings, background=False, progress=progress, for_shell=True)
        try:
            yield hub
        except SkillNotFound as error:
            if error.path is not None or hub.skills():
                raise
            causes = sentences(hub.why_nothing(for_models=False).causes)
            raise SkillNotFound(error.name, near=error.near, hint=f"{NOTHING_SERVED}. {causes}") from error
        except IndexUnavailable as error:
            raise with_publication(error, settings) from error
        finally:
            hub.close()


def settings_with_notes(options: Mapping[str, str]) -> Settings:
    """Return the settings; report on stderr which are invalid and use their default. Raises InvalidSetting."""
    settings, sources = read_settings(os.environ, options)
    for source in sources:
        if source.problem is not None:
            print_note(source.note)
    return settings
