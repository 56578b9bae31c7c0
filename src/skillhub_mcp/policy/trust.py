"""Which projects the user trusts, with their digests, and how untrusted skills are treated. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

from pydantic import AfterValidator, Field

from skillhub_mcp._util.safe_json import JsonFormat, absolute_path

_Path = Annotated[str, AfterValidator(absolute_path)]


class TrustMode(str, Enum):
    """How the skills of an untrusted project are treated.

    LIMITED ones are found and loaded, but cannot override other skills or be pinned, and the card only counts them.
    ASK also requires consent before each is loaded. ALL trusts every project. NONE leaves them out.
    """

    LIMITED = "limited"
    ASK = "ask"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """The trusted digests, by the root of the project and the directory of skills in it."""

    projects: Mapping[_Path, Mapping[_Path, Annotated[str, Field(pattern="^sha256:")]]] = field(default_factory=dict)

    def digest(self, project: str, place: str) -> str | None:
        """Return the trusted digest, or None."""
        return self.projects.get(project, {}).get(place)

    def agreed(self, project: str, digests: Mapping[str, str]) -> TrustRecord:
        """Return the record that also trusts each place of `digests`."""
        return TrustRecord({**self.projects, project: {**self.projects.get(project, {}), **digests}})

    def revoked(self, projects: Collection[str]) -> TrustRecord:
        """Return the record without `projects`."""
        return TrustRecord({root: places for root, places in self.projects.items() if root not in projects})


NO_AGREEMENT = TrustRecord()
TRUST_FORMAT = JsonFormat(TrustRecord)
