"""Which skills are there, of whose, and what of those that are not? Seed 003's registry over the hub's own scan.

It reads as much of each SKILL.md as its frontmatter takes and no body, runs nothing, and grants nothing. Each build
and each refresh makes a new snapshot; one that was handed out never changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.skills.admission import REGISTRY_STRICT, Admission
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.registry_index import IndexEntry, RegistryIndex, entry_of, index_of
from skillhub_mcp.skills.roots import SkillRoot, Source, ordered
from skillhub_mcp.skills.scanner import ReadDepth, ScanCache, scan
from skillhub_mcp.skills.snapshot import Snapshot

AnyRoot = SkillRoot | str | os.PathLike[str] | Mapping[str, object]


class Registry:
    """The skills below some roots. Nothing is read before the first question, and no disk is looked at after it
    until `build_index` or `refresh_index` (seed 003 §6). Not for several threads at once.
    """

    def __init__(self, roots: Sequence[AnyRoot], *, admission: Admission = REGISTRY_STRICT) -> None:
        self._roots = as_roots(roots)
        self._admission = admission
        self._memory: ScanCache = {}
        self._snapshot: Snapshot | None = None

    @property
    def roots(self) -> tuple[SkillRoot, ...]:
        """The roots, the first of which wins a name."""
        return self._roots

    @property
    def snapshot(self) -> Snapshot:
        """The skills as they were when they were last looked at."""
        return self._snapshot or self._look()

    def build_index(self) -> RegistryIndex:
        """Read every SKILL.md anew and return the index and its report (seed 003 §2.3)."""
        return self._index(self._look(reread=True))

    def refresh_index(self, changes: Sequence[str] | None = None) -> RegistryIndex:
        """Read what is new or other and return the index. With `changes`, paths, nothing else is looked at."""
        return self._index(self._look(only=None if self._snapshot is None else changes))

    def find(self, name: str, *, source: Source | str | None = None) -> IndexEntry | None:
        """Return the skill of that name, or the one that `source` has, be it shadowed (seed 003 §5).

        Raises InvalidArgument for a source that does not exist.
        """
        snapshot = self.snapshot
        skill = snapshot.named(name if source is None else f"{name}@{as_source(source).value}")
        return None if skill is None else entry_of(skill, snapshot.source(skill))

    def skills(self, *, source: Source | str | None = None) -> tuple[IndexEntry, ...]:
        """Return the entries by name, or those of one source, also the shadowed ones (seed 003 §5).

        Raises InvalidArgument for a source that does not exist.
        """
        snapshot = self.snapshot
        chosen: tuple[Skill, ...] = snapshot.skills if source is None else snapshot.of(as_source(source))
        return tuple(entry_of(skill, snapshot.source(skill)) for skill in chosen)

    def _index(self, snapshot: Snapshot) -> RegistryIndex:
        return replace(index_of(snapshot), again=self.refresh_index)

    def _look(self, *, reread: bool = False, only: Sequence[str] | None = None) -> Snapshot:
        seen = scan(
            self._roots,
            memory=self._memory,
            admission=self._admission,
            reread=reread,
            reading=ReadDepth.HEADER,
            only=only,
        )
        self._memory = seen.memory
        self._snapshot = seen.snapshot
        return seen.snapshot


def as_roots(roots: Sequence[AnyRoot]) -> tuple[SkillRoot, ...]:
    """Return roots in the order given, or by their priorities where they carry some (seed 003 §2.1).

    A root is a path, a `SkillRoot`, or a map of `path`, `source` and, if wanted, `priority`: 1 is the highest. Raises
    InvalidArgument for one that is none of these.
    """
    if isinstance(roots, str | os.PathLike):
        # A text is a sequence of its letters, each of which would pass for a path.
        raise InvalidArgument("roots", "is one path, and not a list of roots", hint=f"give [{os.fspath(roots)!r}]")
    read = [_root(root) for root in roots]
    if all(isinstance(root, SkillRoot) for root in roots):
        return tuple(root for root in roots if isinstance(root, SkillRoot))
    read.sort(key=lambda root: root[0])
    return ordered((source, path) for _, source, path in read)


def _root(root: AnyRoot) -> tuple[int, Source, str]:
    if isinstance(root, SkillRoot):
        return root.priority, root.source, root.path
    if isinstance(root, str | os.PathLike):
        return 1, Source.HUB, os.fspath(root)
    if not isinstance(root, Mapping):
        raise InvalidArgument("roots", f"holds {root!r}, which is neither a path nor a root")
    path, priority = root.get("path"), root.get("priority", 1)
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if not isinstance(path, str) or not path:
        raise InvalidArgument("roots", "holds a root without a path")
    if not isinstance(priority, int):
        raise InvalidArgument("roots", f"holds a priority {priority!r}, which is no whole number")
    return priority, as_source(root.get("source", Source.HUB)), path


def as_source(written: object) -> Source:
    """Return the source of that name. Raises InvalidArgument, which names those that exist."""
    try:
        return Source(written)
    except ValueError:
        known = ", ".join(source.value for source in Source)
        raise InvalidArgument("source", f"{written!r} is not one of {known}") from None
