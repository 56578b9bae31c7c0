"""Which projects a person has agreed to, each as it was then, and how other projects' skills are treated. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum

from skillhub_mcp._util.safe_json import BadJson, read_format
from skillhub_mcp.skills.model import Trust

_FORMAT = 1
_PROJECTS = "projects"
_DIGEST = "sha256:"


class TrustMode(str, Enum):
    """What becomes of a project's skills that their person has not agreed to.

    LIMITED ones are found and loaded, but take no name, are never pinned, and are on the card by their count. With ASK
    a person is also asked before each is loaded. ALL projects are trusted without a question. NONE leaves them out.
    """

    LIMITED = "limited"
    ASK = "ask"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """The digests that a person agreed to, by the root of the project and the directory of skills in it."""

    projects: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def digest(self, project: str, place: str) -> str | None:
        """Return the digest that was agreed to, or None."""
        return self.projects.get(project, {}).get(place)

    def judge(self, project: str, place: str, digest: str | None) -> Trust:
        """Return whether the `digest` of a place, None for one that cannot be had, is the one that was agreed to."""
        agreed = self.digest(project, place)
        if agreed is None:
            return Trust.AWAITED
        return Trust.AGREED if agreed == digest else Trust.CHANGED

    def agreed(self, project: str, digests: Mapping[str, str]) -> TrustRecord:
        """Return the record with an agreement to each place of `digests`; those to other places stay."""
        return TrustRecord({**self.projects, project: {**self.projects.get(project, {}), **digests}})

    def revoked(self, projects: Collection[str]) -> TrustRecord:
        """Return the record without any agreement to `projects`."""
        return TrustRecord({root: places for root, places in self.projects.items() if root not in projects})


NO_AGREEMENT = TrustRecord()


def parse_trust(text: str) -> TrustRecord:
    """Return the record that a file holds. Raises BadJson."""
    projects = read_format(text, _FORMAT).get(_PROJECTS, {})
    if not isinstance(projects, dict):
        raise BadJson(f'"{_PROJECTS}" must be an object')
    return TrustRecord({_path(_PROJECTS, root): _places(root, places) for root, places in projects.items()})


def trust_text(record: TrustRecord, before: str | None = None) -> str:
    """Return the content of the file for `record`, keeping what else its text `before` held."""
    kept = {} if before is None else read_format(before, _FORMAT)
    projects = {root: dict(sorted(places.items())) for root, places in sorted(record.projects.items()) if places}
    return json.dumps(kept | {"format": _FORMAT, _PROJECTS: projects}, ensure_ascii=False, indent=2) + "\n"


def _places(root: str, value: object) -> Mapping[str, str]:
    where = f"{_PROJECTS}[{root!r}]"
    if not isinstance(value, dict) or not all(
        isinstance(digest, str) and digest.startswith(_DIGEST) for digest in value.values()
    ):
        raise BadJson(f"{where} must be an object of directories, each with a {_DIGEST} digest")
    return {_path(where, place): digest for place, digest in value.items()}


def _path(where: str, path: str) -> str:
    if not os.path.isabs(path):
        raise BadJson(f"{where} has the key {path!r}, which is no absolute path")
    return path
