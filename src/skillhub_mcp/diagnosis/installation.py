"""What a check receives and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from skillhub_mcp.errors import IndexUnavailable, SkillHubError
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.views import View
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.settings import Settings, SettingSource
from skillhub_mcp.skills.model import Problem
from skillhub_mcp.skills.places import UnsearchedPlace
from skillhub_mcp.skills.snapshot import Snapshot


@dataclass(frozen=True)
class Installation:
    """The settings with their sources, and the hub and the index that they describe.

    `unsearched` returns the places with skills outside the roots, `unknown_names` the misspelt names in rules, tokens
    and filters, and `exposed` the person's files that others may write.
    """

    settings: Settings
    sources: Sequence[SettingSource]
    hub: SkillHub
    index: IndexWriter
    unsearched: Callable[[Snapshot], Sequence[UnsearchedPlace]]
    unknown_names: Callable[[Snapshot], Sequence[Problem]]
    exposed: Callable[[], Sequence[Problem]]

    @cached_property
    def view(self) -> View:
        """The skills and their index, brought up to date."""
        return self.hub.refresh(waiting=True)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found: with `problems` doctor exits with 1, `notes` are shown with --verbose only.

    `state` is a part of the first line, such as `113 skills served`. `details` are lines for --verbose, and `facts` the
    check's members of the JSON object.
    """

    problems: Sequence[Problem] = ()
    warnings: Sequence[Problem] = ()
    notes: Sequence[Problem] = ()
    state: str = ""
    details: Sequence[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)


def with_publication(error: SkillHubError, settings: Settings) -> SkillHubError:
    """Return the error; that of a replica names the setting of its publication."""
    if not (settings.replica.read_only and isinstance(error, IndexUnavailable)):
        return error
    meant = f"SKILLHUB_DB_PATH is {settings.index.db_path!r}, and is to name what `skillhub publish` wrote"
    return IndexUnavailable(error.message, hint=f"{meant}; {error.hint}" if error.hint else meant)
