"""The index after a command that changed a root: what the next search and every server finds is what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skillhub_mcp.errors import SkillHubError


@dataclass(frozen=True, slots=True)
class RefreshedIndex:
    """What became of the index: why it could not be refreshed, if so, and who answers to the names that were asked.

    `answering` has the directory and the source of the skill, by name, where there is one, and `awaiting` those of the
    names whose skill awaits trust.
    """

    problem: str = ""
    answering: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    awaiting: frozenset[str] = frozenset()


def refresh_index(options: Mapping[str, str], names: Sequence[str] = ()) -> RefreshedIndex:
    """Sync the index with the files, and return who answers to `names` now. What fails is told, and never raised:
    the root is changed by then, and the next search looks again.
    """
    from skillhub_mcp.cli.open_hub import open_hub
    from skillhub_mcp.settings import settings_of
    from skillhub_mcp.skills.name_resolution import Names

    try:
        if settings_of(options).replica.read_only:
            # It serves a publication, and no directory of skills.
            return RefreshedIndex()
        with open_hub({**options, "SKILLHUB_USAGE_LOG": "", "SKILLHUB_SKIP_AUTO_REINDEX": "0"}) as hub:
            view = hub.refresh(waiting=True)
            snapshot, policy = hub.snapshot_and_policy()
            known = Names(snapshot, policy)

            found = {name: skill for name in names if (skill := known.find(name)) is not None}
            return RefreshedIndex(
                "" if view.problem is None else view.problem.message,
                {name: (skill.directory, snapshot.source(skill).value) for name, skill in found.items()},
                frozenset(name for name, skill in found.items() if skill.awaits_trust),
            )
    except SkillHubError as error:
        return RefreshedIndex(error.message)
