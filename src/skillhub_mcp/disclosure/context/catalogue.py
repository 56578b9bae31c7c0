"""The catalogues of the agent-context tools, one for each working directory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skillhub_mcp._util.lru import LRUCache
from skillhub_mcp.disclosure.catalogue import Budget, CatalogueEntry, Rendered, estimate_tokens, fit, render_codelia
from skillhub_mcp.disclosure.context.schema import SkillLoadError, SkillMetadata, scope_source
from skillhub_mcp.disclosure.ledger import Layer, Shown
from skillhub_mcp.disclosure.lookup import FoundByName
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import InvalidArgument, SkillNotFound
from skillhub_mcp.project import Project
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.skills.admission import AGENT_CONTEXT, Admission
from skillhub_mcp.skills.discovery import skill_path
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.roots import SkillRoot, Source, agent_context_roots
from skillhub_mcp.skills.scanner import Scan, scan
from skillhub_mcp.skills.snapshot import Refused, Snapshot

_ID = re.compile("[0-9a-f]{24}")
_MAX_CATALOGUES = 32


class Present(Protocol):
    """Returns the skills that the hub serves, as `ViewSource.snapshot` does."""

    def __call__(self, *, fresh: bool, admission: Admission) -> Snapshot: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """All skills of one working directory, repo before user and then by path, and all errors."""

    cwd: str
    root: str
    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]
    disabled: frozenset[str]
    by_path: Mapping[str, Skill]
    has_moved: Callable[[Skill], bool]
    refused: Mapping[str, SkillLoadError] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[SkillMetadata, ...]:
        """The skills that a model is shown."""
        enabled = (skill for skill in self.skills if skill.path not in self.disabled)
        return tuple(skill for skill in enabled if not self.by_path[skill.path].disable_model_invocation)

    @property
    def initial(self) -> tuple[SkillMetadata, ...]:
        """The skills that a model is shown at the start of a session: none that awaits trust."""
        return tuple(skill for skill in self.shown if not self.by_path[skill.path].awaits_trust)


class Catalogues:
    """The catalogues of working directories; other roots than the hub's are scanned on each call. Thread-safe."""

    def __init__(
        self,
        find_project: Callable[[str], Project],
        *,
        home: str,
        budget: Budget,
        is_allowed: Callable[[Skill], bool] = lambda _: True,
        enabled_in: Callable[[str], Callable[[Skill], bool]] = lambda _: lambda _: True,
        reports_errors: Callable[[], bool] = lambda: True,
        judge: Callable[[tuple[SkillRoot, ...]], tuple[SkillRoot, ...]] = lambda roots: roots,
        present: Present | None = None,
    ) -> None:
        self._find_project = find_project
        self._judge = judge
        self._is_allowed = is_allowed
        self._enabled_in = enabled_in
        self._reports_errors = reports_errors
        self._home = home
        self._budget = budget
        self._present = present
        self._lock = threading.Lock()
        self._scans: LRUCache[tuple[str, ...], Scan] = LRUCache(_MAX_CATALOGUES)

    def listing(self, cwd: str | None = None, *, force_reload: bool = False) -> Listing:
        """Return the skills for `cwd`; with `force_reload`, after looking for changes. Raises InvalidArgument."""
        refuse_nul(cwd=cwd)
        if cwd is not None and not os.path.isdir(expand_home(cwd)):
            raise InvalidArgument("cwd", f"{cwd!r} is not a directory")
        project = self._find_project(expand_home(cwd or ""))
        snapshot = self._snapshot(project, fresh=force_reload)
        is_enabled, reports_errors = self._enabled_in(project.root), self._reports_errors()
        allowed = [skill for skill in snapshot.everything if self._is_allowed(skill)]
        skills = [(_metadata(skill, snapshot.source(skill)), skill) for skill in allowed]
        skills.sort(key=lambda pair: (pair[0].scope != "repo", pair[0].path))
        return Listing(
            cwd=project.cwd,
            root=project.root,
            skills=tuple(metadata for metadata, _ in skills),
            errors=tuple(_errors(snapshot)) if reports_errors else (),
            disabled=frozenset(metadata.path for metadata, skill in skills if not is_enabled(skill)),
            by_path={metadata.path: skill for metadata, skill in skills},
            has_moved=snapshot.has_moved,
            refused=_refusals(snapshot) if reports_errors else {},
        )

    def select(self, select: Callable[[Listing], SkillMetadata]) -> tuple[Listing, SkillMetadata]:
        """Return the default catalogue and the skill that `select` chooses from it, after a scan if it is missing."""
        listing = self.listing()
        with contextlib.suppress(SkillNotFound):
            skill = select(listing)
            if os.path.lexists(skill.path) and not listing.has_moved(listing.by_path[skill.path]):
                return listing, skill
        listing = self.listing(force_reload=True)
        skill = select(listing)
        if listing.has_moved(listing.by_path[skill.path]):
            raise SkillNotFound(skill.name)
        return listing, skill

    def find_by_id(self, wanted: str) -> FoundByName | None:
        """Return the skill of the default catalogue with this id."""
        if _ID.fullmatch(wanted) is None:
            return None
        listing = self.listing()
        found = (skill for skill in listing.skills if skill.id == wanted)
        return next((FoundByName(listing.by_path[one.path], one.id, Source(scope_source(one))) for one in found), None)

    def _snapshot(self, project: Project, *, fresh: bool) -> Snapshot:
        roots = agent_context_roots(project, home=self._home)
        served = None if self._present is None else self._present(fresh=fresh, admission=AGENT_CONTEXT).below(roots)
        if served is not None:
            return served
        paths = tuple(root.path for root in roots)
        with self._lock:
            now = scan(self._judge(roots), admission=AGENT_CONTEXT, whole=False, before=self._scans.get(paths))
            self._scans.put(paths, now)
        return now.snapshot

    def initial(self, *, with_paths: bool = True) -> Rendered:
        """Return `<skills_context>`, the catalogue for the start of a session, within the budget."""
        entries = context_entries(self.listing(), with_paths=with_paths)
        return fit(entries, self._budget, render_codelia, search_tool="skill_search", load_tool="skill_load")


def context_entries(listing: Listing, *, with_paths: bool = True) -> list[CatalogueEntry]:
    """Return the entries for the start of a session; without `with_paths`, with ids in place of paths."""
    return [
        CatalogueEntry(
            name=skill.name,
            description=skill.description,
            path=skill.path if with_paths else skill.id,
            source=scope_source(skill),
            scope=skill.scope,
        )
        for skill in listing.initial
    ]


def skill_id(path: str) -> str:
    """Return the id of the SKILL.md at a canonical path."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _metadata(skill: Skill, source: Source) -> SkillMetadata:
    path = skill_path(skill)
    return SkillMetadata(
        id=skill_id(path),
        name=skill.name,
        description=skill.description,
        path=path,
        dir=skill.directory,
        scope="repo" if source is Source.PROJECT else "user",
        mtimeMs=skill.stamp.mtime_ns / 1_000_000,
    )


def _errors(snapshot: Snapshot) -> Iterable[SkillLoadError]:
    for refused in snapshot.report.refused:
        # These tools need a file of exactly that name.
        if all(found.rule != "file-name" for found in refused.diagnostics):
            yield _refusal(refused)
    for problem in snapshot.report.problems:
        yield SkillLoadError(path=problem.subject, message=problem.message)


def _refusals(snapshot: Snapshot) -> dict[str, SkillLoadError]:
    """Return why skills are refused, by the names of their directories and in their frontmatter."""
    return {
        name: _refusal(refused)
        for refused in snapshot.report.refused
        for name in (os.path.basename(refused.directory), refused.name)
        if name
    }


def _refusal(refused: Refused) -> SkillLoadError:
    reason = refused.reason
    line = f" (line {reason.line})" if reason.line else ""
    return SkillLoadError(
        path=os.path.join(refused.directory, SKILL_FILE), message=f"{reason.message}{line}; {reason.hint}"
    )


_LAYERS: tuple[Layer, ...] = ("catalogue", "skill", "file", "agents")
_MAX_LISTED = 100


def inspect_context(catalogues: Catalogues | None, shown: Sequence[Shown], *, with_paths: bool) -> dict[str, Any]:
    """Return the report as JSON values: `cost` by layer and, with `catalogues`, `skills` with what was loaded."""
    costs: dict[str, int] = dict.fromkeys(_LAYERS, 0)
    for entry in shown:
        costs[entry.layer] += entry.tokens
    report: dict[str, Any] = {"cost": {**costs, "total": sum(costs.values())}}
    if catalogues is None:
        return report
    listing = catalogues.listing()
    initial = catalogues.initial()
    loaded = [entry for entry in shown if entry.layer in ("skill", "file")]
    report["skills"] = {
        "catalogue": {
            "skills": len(listing.shown),
            "names": [skill.name for skill in listing.shown[:_MAX_LISTED]],
            "hidden": len(listing.skills) - len(listing.shown),
            "errors": [error.path if with_paths else error.message for error in listing.errors[:_MAX_LISTED]],
            "truncated": initial.catalogue.truncated,
            "tokens": estimate_tokens(initial.text),
        },
        "loaded": [_entry_json(entry, with_paths=with_paths) for entry in loaded[-_MAX_LISTED:]],
    }
    if with_paths:
        report["skills"]["catalogue"]["cwd"] = listing.cwd
    return report


def _entry_json(entry: Shown, *, with_paths: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"layer": entry.layer, "name": entry.name, "times": entry.times, "tokens": entry.tokens}
    if entry.mtime_ms is not None:
        value["mtimeMs"] = entry.mtime_ms
    if not entry.is_complete:
        value["complete"] = False
    if with_paths:
        value["path"] = entry.key
    return value
