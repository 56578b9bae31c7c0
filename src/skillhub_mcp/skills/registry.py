"""The registry, built on scans: skills by name and source, with a report on every path that yielded no skill."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.input_checks import refuse_nul
from skillhub_mcp.skills.admission import REGISTRY_STRICT, Admission
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.registry_index import IndexEntry, RegistryIndex, build_registry_index, to_index_entry
from skillhub_mcp.skills.roots import SkillRoot, Source, distinct_roots
from skillhub_mcp.skills.scanner import ReadDepth, Scan, scan
from skillhub_mcp.skills.snapshot import Snapshot

AnyRoot = SkillRoot | str | os.PathLike[str] | Mapping[str, object]


class Registry:
    """The skills below some roots, read on the first query. Not thread-safe."""

    def __init__(self, roots: Sequence[AnyRoot], *, admission: Admission = REGISTRY_STRICT) -> None:
        self.roots = as_roots(roots)
        self._admission = admission
        self._last: Scan | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The skills as of the last scan."""
        return self._scanned() if self._last is None else self._last.snapshot

    def build_index(self) -> RegistryIndex:
        """Read every SKILL.md again and return the index with its report."""
        return self._index(self._scanned(reread=True))

    def refresh_index(self, changes: Sequence[str] | None = None) -> RegistryIndex:
        """Read new and changed files and return the index.

        If all paths in `changes` lie in known skills, only those skills are looked at.
        """
        refuse_nul(changes=changes)
        return self._index(self._scanned(only=changes))

    def find(self, name: str, *, source: Source | str | None = None) -> IndexEntry | None:
        """Return the skill of that name; with `source`, the one from that source, even if it is shadowed.

        Raises InvalidArgument for an unknown source.
        """
        refuse_nul(name=name, source=source)
        snapshot = self.snapshot
        skill = Names(snapshot).find(name if source is None else f"{name}@{as_source(source).value}")
        return None if skill is None else to_index_entry(skill, snapshot.source(skill))

    def skills(self, *, source: Source | str | None = None) -> tuple[IndexEntry, ...]:
        """Return the entries by name; with `source`, all from that source, including shadowed ones.

        Raises InvalidArgument for an unknown source.
        """
        snapshot = self.snapshot
        chosen = snapshot.skills if source is None else Names(snapshot).of_source(as_source(source))
        return tuple(to_index_entry(skill, snapshot.source(skill)) for skill in chosen)

    def _scanned(self, *, reread: bool = False, only: Sequence[str] | None = None) -> Snapshot:
        before = self._last
        self._last = scan(
            self.roots,
            memory={} if before is None else before.memory,
            admission=self._admission,
            reread=reread,
            depth=ReadDepth.HEADER,
            only=only,
            before=before,
        )
        return self._last.snapshot

    def _index(self, snapshot: Snapshot) -> RegistryIndex:
        return replace(build_registry_index(Names(snapshot)), refresh=self.refresh_index)


def as_roots(roots: Sequence[AnyRoot]) -> tuple[SkillRoot, ...]:
    """Return the roots sorted by priority. `SkillRoot`s keep theirs; if there are others, each gets its position.

    A root is a path, a `SkillRoot`, or a mapping of `path`, `source` and optionally `priority`. Raises InvalidArgument.
    """
    if isinstance(roots, str | os.PathLike):
        # A str is a sequence of characters, each of which would be accepted as a path.
        raise InvalidArgument("roots", "is a single path, not a list of roots", hint=f"pass [{os.fspath(roots)!r}]")
    distinct: dict[str, SkillRoot] = {}
    for root in sorted(map(_root, roots), key=lambda root: root.priority):
        refuse_nul(roots=root.path)
        distinct.setdefault(root.path, root)
    if all(isinstance(root, SkillRoot) for root in roots):
        return tuple(distinct.values())
    return tuple(replace(root, priority=position) for position, root in enumerate(distinct.values(), 1))


def _root(root: AnyRoot) -> SkillRoot:
    if isinstance(root, SkillRoot):
        return root
    if isinstance(root, str | os.PathLike):
        return _only(Source.HUB, os.fspath(root), 1)
    if not isinstance(root, Mapping):
        raise InvalidArgument("roots", f"contains {root!r}, which is neither a path nor a root")
    path, priority = root.get("path"), root.get("priority", 1)
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if not isinstance(path, str) or not path:
        raise InvalidArgument("roots", "contains a root without a path")
    if not isinstance(priority, int):
        raise InvalidArgument("roots", f"contains a priority that is not an integer: {priority!r}")
    return _only(as_source(root.get("source", Source.HUB)), path, priority)


def _only(source: Source, path: str, priority: int) -> SkillRoot:
    refuse_nul(roots=path)
    (root,) = distinct_roots([(source, path)])
    return replace(root, priority=priority)


def as_source(written: object) -> Source:
    """Return the source of that name. Raises InvalidArgument for an unknown one and lists the known ones."""
    try:
        return Source(written)
    except ValueError:
        known = ", ".join(source.value for source in Source)
        raise InvalidArgument("source", f"{written!r} is not one of {known}") from None
