"""What checks look at: the settings, the hub, and its library, read once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.views import View
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.settings import Settings, SettingSource


class Installation:
    """The settings with their sources, and the hub that they describe. Safe to use from several threads."""

    def __init__(self, settings: Settings, sources: Sequence[SettingSource], hub: SkillHub) -> None:
        self.settings = settings
        self.sources = sources
        self.hub = hub
        self.home = expand_home("~")
        self._lock = threading.Lock()

    @property
    def view(self) -> View:
        """The skills and their index, brought up to date when the first check asks; the others wait meanwhile."""
        with self._lock:
            return self._view

    @cached_property
    def _view(self) -> View:
        return self.hub.refresh(waiting=True)

    @property
    def embedding_failure(self) -> str | None:
        """Why skills have no vectors; None where they have, or are to have none."""
        report = self.view.report
        return None if report is None else report.embedding_failure

    def policy(self) -> Policy | None:
        """Return what is served; None where a file of rules or choices cannot be read, of which `rules` tells."""
        try:
            return self.hub.access.now()
        except PolicyUnreadable:
            return None
