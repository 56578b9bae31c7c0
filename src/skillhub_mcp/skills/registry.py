"""The registry, built on scans: skills by name and source, with a report on every path that yielded no skill."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.skills.admission import REGISTRY_STRICT, Admission
from skillhub_mcp.skills.discovery import Ignored
from skillhub_mcp.skills.model import Skill
from skillhub_mcp.skills.name_resolution import Names
from skillhub_mcp.skills.roots import SkillRoot, Source, distinct_roots
from skillhub_mcp.skills.rules import Diagnostic
from skillhub_mcp.skills.scanner import Scan, scan
from skillhub_mcp.skills.snapshot import Snapshot

AnyRoot = SkillRoot | str | os.PathLike[str] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Controls:
    """The author's restrictions on how a skill is invoked. The agent enforces them, not the registry."""

    disable_model_invocation: bool
    user_invocable: bool
    allowed_tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meta:
    """A skill's version and author, if its frontmatter gives them."""

    version: str | None
    author: str | None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One skill in the index. `path` is the skill's absolute directory; it `awaits_trust` if its project does."""

    name: str
    description: str
    source: Source
    path: str
    controls: Controls
    meta: Meta
    diagnostics: tuple[Diagnostic, ...]
    awaits_trust: bool = False


@dataclass(frozen=True, slots=True)
class ScannedRoot:
    """A root as scanned. A `priority` of 1 is the highest; `found` counts the SKILL.md files below it."""

    source: Source
    path: str
    priority: int
    exists: bool
    found: int


@dataclass(frozen=True, slots=True)
class IgnoredPlace:
    """A path that gave no skill, and the reason. `rule` is set if a SKILL.md violates that rule."""

    path: str
    reason: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A name that two skills have, which of them it refers to, and why."""

    name: str
    winner: IndexEntry
    overridden: IndexEntry
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The report of one build. `ignored_counts` are complete; `ignored` lists the first hundred paths per reason."""

    roots: tuple[ScannedRoot, ...]
    seconds: float
    found: int
    valid: int
    ignored_counts: Mapping[str, int]
    ignored: tuple[IgnoredPlace, ...]
    conflicts: tuple[Conflict, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class RegistryIndex:
    """The skills by name and the report; `refresh` scans again."""

    skills: tuple[IndexEntry, ...]
    report: IndexReport
    refresh: Callable[[Sequence[str] | None], RegistryIndex] | None = field(default=None, repr=False, compare=False)

    @property
    def for_models(self) -> tuple[IndexEntry, ...]:
        """The entries for a list that a model reads: it may invoke them, and they do not await trust."""
        return tuple(
            entry for entry in self.skills if not (entry.awaits_trust or entry.controls.disable_model_invocation)
        )


def build_registry_index(names: Names, *, source: Source | None = None, whole: bool = True) -> RegistryIndex:
    """Return the offered skills, or those of `source`. Unless `whole`, the report covers only these."""
    chosen = names.offered() if source is None else names.of_source(source)
    return RegistryIndex(tuple(_entry(skill) for skill in chosen), _report(names, whole))


def _entry(skill: Skill) -> IndexEntry:
    return IndexEntry(
        name=skill.name,
        description=skill.description,
        source=Source(skill.source),
        path=skill.directory,
        controls=Controls(skill.disable_model_invocation, skill.user_invocable, skill.allowed_tools),
        meta=Meta(skill.version, skill.author),
        diagnostics=skill.diagnostics,
        awaits_trust=skill.awaits_trust,
    )


def _report(names: Names, whole: bool) -> IndexReport:
    snapshot = names.snapshot
    if not whole:
        offered = tuple(filter(names.judge.offers, snapshot.everything))
        empty = replace(snapshot.report, refused=(), problems=(), ignored=Ignored())
        snapshot = replace(snapshot, everything=offered, report=empty)
    scanned = snapshot.report
    found = Counter(skill.root for skill in snapshot.everything)
    found.update(refused.root for refused in scanned.refused)
    counts = Counter({reason.value: count for reason, count in scanned.ignored.counts.items()})
    ignored = [IgnoredPlace(path, reason.value) for reason, paths in scanned.ignored.paths.items() for path in paths]
    ignored += [IgnoredPlace(problem.subject, problem.message) for problem in scanned.problems]
    ignored += [IgnoredPlace(one.directory, one.reason.message, one.reason.rule) for one in scanned.refused]
    counts.update(problem.message for problem in scanned.problems)
    counts.update(refused.reason.rule for refused in scanned.refused)
    roots = []
    for root in scanned.roots:
        # A publication's root is a label, not a path, and existed when it was published.
        exists = not os.path.isabs(root.path) or os.path.isdir(root.path)
        roots.append(ScannedRoot(root.source, root.path, root.priority, exists, found[root.path]))
    return IndexReport(
        roots=tuple(roots),
        seconds=scanned.seconds,
        found=found.total(),
        valid=len(names.offered()),
        ignored_counts=dict(sorted(counts.items())),
        ignored=tuple(ignored),
        conflicts=tuple(
            Conflict(lost.skill.name, _entry(lost.winner), _entry(lost.skill), lost.why.value)
            for lost in names.shadowed()
            if names.judge.offers(lost.skill)
        ),
        digest=snapshot.digest,
    )


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
        """Read new and changed files and return the index; if `changes` lie in known skills, only those."""
        refuse_nul(changes=changes)
        return self._index(self._scanned(only=changes))

    def find(self, name: str, *, source: Source | str | None = None) -> IndexEntry | None:
        """Return the skill of that name, or the one from `source`. Raises InvalidArgument for an unknown source."""
        refuse_nul(name=name, source=source)
        snapshot = self.snapshot
        skill = Names(snapshot).find(name if source is None else f"{name}@{as_source(source).value}")
        return None if skill is None else _entry(skill)

    def skills(self, *, source: Source | str | None = None) -> tuple[IndexEntry, ...]:
        """Return the entries by name, or all of one source. Raises InvalidArgument for an unknown source."""
        snapshot = self.snapshot
        chosen = snapshot.skills if source is None else Names(snapshot).of_source(as_source(source))
        return tuple(_entry(skill) for skill in chosen)

    def _scanned(self, *, reread: bool = False, only: Sequence[str] | None = None) -> Snapshot:
        self._last = scan(
            self.roots, admission=self._admission, reread=reread, whole=False, only=only, before=self._last
        )
        return self._last.snapshot

    def _index(self, snapshot: Snapshot) -> RegistryIndex:
        return replace(build_registry_index(Names(snapshot)), refresh=self.refresh_index)


def as_roots(roots: Sequence[AnyRoot]) -> tuple[SkillRoot, ...]:
    """Return the roots by priority: paths, `SkillRoot`s, or mappings of `path` and `source`. Raises InvalidArgument."""
    if isinstance(roots, str | os.PathLike):
        # A str is a sequence of characters, each of which would be accepted as a path.
        raise InvalidArgument("roots", "is a single path, not a list of roots", hint=f"pass [{os.fspath(roots)!r}]")
    distinct: dict[str, SkillRoot] = {}
    for root in sorted(map(_root, roots), key=lambda root: root.priority):
        distinct.setdefault(root.path, root)
    if all(isinstance(root, SkillRoot) for root in roots):
        return tuple(distinct.values())
    return tuple(replace(root, priority=position) for position, root in enumerate(distinct.values(), 1))


def _root(given: AnyRoot) -> SkillRoot:
    if isinstance(given, SkillRoot):
        refuse_nul(roots=given.path)
        return given
    values = given if isinstance(given, Mapping) else {"path": given}
    path, priority = values.get("path"), values.get("priority", 1)
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InvalidArgument("roots", f"contains {given!r}, which is neither a path nor a root with one")
    if not isinstance(priority, int):
        raise InvalidArgument("roots", f"contains a priority that is not an integer: {priority!r}")
    refuse_nul(roots=os.fspath(path))
    (root,) = distinct_roots([(as_source(values.get("source", Source.HUB)), os.fspath(path))])
    return replace(root, priority=priority)


def as_source(written: object) -> Source:
    """Return the source of that name. Raises InvalidArgument for an unknown one and lists the known ones."""
    try:
        return Source(written)
    except ValueError:
        known = ", ".join(source.value for source in Source)
        raise InvalidArgument("source", f"{written!r} is not one of {known}") from None
