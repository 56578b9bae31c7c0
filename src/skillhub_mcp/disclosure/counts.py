"""How many skills there are of each standing, and the one sentence that says so everywhere. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SkillCounts:
    """The skills of one snapshot under one policy. Each SKILL.md that was found counts once, besides `not_for_models`.

    `served` skills can be loaded by name. Of them, `not_for_models` are for people alone: a search finds the others.
    """

    served: int
    not_for_models: int = 0
    off: int = 0
    untrusted: int = 0
    undecided: int = 0
    denied: int = 0
    withheld: int = 0
    changed: int = 0
    filtered: int = 0
    shadowed: int = 0
    refused: int = 0

    def sentence(self) -> str:
        """Return what a person reads, such as `113 served, 1 not for models; 2 off, 1 refused`."""
        served = _told(((self.served, "served"), (self.not_for_models, "not for models")))
        others = _told(
            (
                (self.off, "off"),
                (self.untrusted, "awaiting trust"),
                (self.undecided, "of a project with unreadable rules"),
                (self.denied, "denied"),
                (self.withheld, "withheld by the audit"),
                (self.changed, "not as locked"),
                (self.filtered, "filtered"),
                (self.shadowed, "shadowed"),
                (self.refused, "refused"),
            )
        )
        return "; ".join(filter(None, (served or "0 served", others)))


def count_skills(snapshot: Snapshot, policy: Policy) -> SkillCounts:
    """Return the counts of `snapshot` for whoever `policy` is about."""
    names = Names(snapshot, policy)
    others = [skill for skill in snapshot.everything if names.shadowing(skill) is None]
    # Of most libraries nothing is kept back: whether a skill is offered is asked in a third of the time.
    standing = {
        skill.directory: Availability.ON if policy.offers(skill) else policy.availability(skill) for skill in others
    }
    each = Counter(standing.values())
    return SkillCounts(
        served=each[Availability.ON],
        not_for_models=sum(
            skill.disable_model_invocation and standing[skill.directory] is Availability.ON for skill in others
        ),
        **{one.value: each[one] for one in Availability if one is not Availability.ON},
        shadowed=len(snapshot.everything) - len(others),
        refused=len(snapshot.report.refused),
    )


def _told(counts: tuple[tuple[int, str], ...]) -> str:
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)
