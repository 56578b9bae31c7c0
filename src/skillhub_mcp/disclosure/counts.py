"""Count the skills that are served, off, shadowed and so on, and say it in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

from skillhub_mcp.policy.access import Availability, Policy
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.snapshot import Snapshot

_WORDS = {
    "not_for_models": "not for models",
    "untrusted": "awaiting trust",
    "undecided": "of a project with unreadable rules",
    "withheld": "withheld by the audit",
    "changed": "not as locked",
}


@dataclass(frozen=True, slots=True)
class SkillCounts:
    """The skills of a snapshot under a policy, each counted once. `not_for_models` are a part of `served`."""

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
        """Return, for example, `113 served, 1 not for models; 2 off, 1 refused`."""

        def said(names: Sequence[str]) -> str:
            counts = ((getattr(self, name), _WORDS.get(name, name)) for name in names)
            return ", ".join(f"{count:,} {what}" for count, what in counts if count)

        names = [field.name for field in fields(self)]
        return "; ".join(filter(None, (said(names[:2]) or "0 served", said(names[2:]))))


def count_skills(snapshot: Snapshot, policy: Policy) -> SkillCounts:
    """Return the counts of `snapshot` under `policy`."""
    names = Names(snapshot, policy)
    others = [skill for skill in snapshot.everything if names.shadowing(skill) is None]
    # `offers` is faster, and true of most.
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
