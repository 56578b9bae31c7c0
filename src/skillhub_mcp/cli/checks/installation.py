"""What checks look at: the settings, the hub, and its library, read once for all of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import IndexUnavailable, PolicyUnreadable
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.damage import Damage
from skillhub_mcp.index.views import View
from skillhub_mcp.policy.access import Policy
from skillhub_mcp.settings import Settings, SettingSource


@dataclass(frozen=True, slots=True)
class Library:
    """The view of the skills and their index, and what is damaged in that and does not mend itself."""

    view: View
    damages: tuple[Damage, ...]

    @property
    def embedding_failure(self) -> str | None:
        """Why skills have no vectors; None where they have, or are to have none."""
        return None if self.view.report is None else self.view.report.embedding_failure


class Installation:
    """The settings with their sources, and the hub that they describe. Safe to use from several threads."""

    def __init__(self, settings: Settings, sources: Sequence[SettingSource], hub: SkillHub) -> None:
        self.settings = settings
        self.sources = sources
        self.hub = hub
        self.home = expand_home("~")
        self._lock = threading.Lock()

    @property
    def library(self) -> Library:
        """The skills and their index, brought up to date when the first check asks; the others wait meanwhile.

        A damaged index is left as it is found: the user is told how to mend it.
        """
        with self._lock:
            return self._library

    @cached_property
    def _library(self) -> Library:
        try:
            damages = tuple(damage for damage in self.hub.damages() if not damage.mends_itself)
        except IndexUnavailable:
            # The view says so, too.
            damages = ()
        view = View(self.hub.snapshot(), None) if damages else self.hub.refresh(waiting=True)
        return Library(view, damages)

    def policy(self) -> Policy | None:
        """Return what is served; None where a file of rules or choices cannot be read, of which `rules` tells."""
        try:
            return self.hub.access.now()
        except PolicyUnreadable:
            return None
