"""The agent-context tools' catalogues: one for each working directory, cached until a reload is forced."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from skillhub_mcp.disclosure.catalogue import Budget, CatalogueEntry, Rendered, fit, render_codelia
from skillhub_mcp.disclosure.context.schema import SkillCatalog, SkillLoadError, SkillMetadata, scope_source
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.project import Project
from skillhub_mcp.skills.admission import AGENT_CONTEXT
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import Source, agent_context_roots
from skillhub_mcp.skills.snapshot import Snapshot

_MAX_CATALOGUES = 32
_NANOSECONDS_PER_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class CatalogueLimits:
    """The bounds of the catalogue at the start of a session: skills, and UTF-8 bytes of the whole text."""

    max_entries: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Listing:
    """All skills of one working directory, repo before user and then by path, and all errors.

    `hidden` are the paths of skills with `disable-model-invocation`, which no list and no search shows to a model;
    `disabled` are the paths of skills that the user disabled or a rule denies. `by_path` has each skill as scanned.
    """

    cwd: str
    root: str
    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]
    hidden: frozenset[str]
    disabled: frozenset[str]
    by_path: Mapping[str, Skill]

    @property
    def shown(self) -> tuple[SkillMetadata, ...]:
        """The skills that a model is shown."""
        left_out = self.hidden | self.disabled
        return tuple(skill for skill in self.skills if skill.path not in left_out)


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    registry: Registry
    is_enabled: Callable[[Skill], bool]
    listing: Listing


class Catalogues:
    """The catalogues of the last 32 working directories that were used. Safe to use from several threads.

    `find_project` returns the project of a directory; an empty directory is the default. `home` has the user's skills.
    Skills that `is_allowed` rejects are treated as if they did not exist. `enabled_in` returns, for a project's root,
    the predicate for enabled skills; an equal predicate means that neither the enabled nor the allowed skills have
    changed. `reports_errors` is whether errors are reported to the present client.
    """

    def __init__(
        self,
        find_project: Callable[[str], Project],
        *,
        home: str,
        limits: CatalogueLimits,
        is_allowed: Callable[[Skill], bool] = lambda _: True,
        enabled_in: Callable[[str], Callable[[Skill], bool]] = lambda _: _always_enabled,
        reports_errors: Callable[[], bool] = lambda: True,
    ) -> None:
        self._find_project = find_project
        self._is_allowed = is_allowed
        self._enabled_in = enabled_in
        self._reports_errors = reports_errors
        self._home = home
        self._limits = limits
        self._lock = threading.Lock()
        self._cache: LRUCache[str, _CacheEntry] = LRUCache(_MAX_CATALOGUES)

    def listing(self, cwd: str | None = None, *, force_reload: bool = False) -> Listing:
        """Return the skills for `cwd`; without `force_reload` as they were at the last scan.

        Raises InvalidArgument for a `cwd` that is not a directory.
        """
        if cwd is not None and not os.path.isdir(os.path.expanduser(cwd)):
            raise InvalidArgument("cwd", f"{cwd!r} is not a directory")
        project = self._find_project(os.path.expanduser(cwd or ""))
        is_enabled = self._enabled_in(project.root)
        with self._lock:
            cached = self._cache.get(project.cwd)
            if cached is not None and cached.is_enabled == is_enabled and not force_reload:
                return cached.listing
            if cached is None:
                registry = Registry(agent_context_roots(project, home=self._home), admission=AGENT_CONTEXT)
            else:
                registry = cached.registry
                if force_reload:
                    registry.refresh_index()
            listing = _listing(project, registry.snapshot, self._is_allowed, is_enabled)
            if not self._reports_errors():
                listing = replace(listing, errors=())
            self._cache.put(project.cwd, _CacheEntry(registry, is_enabled, listing))
            return listing

    def initial(self, cwd: str | None = None, *, with_paths: bool = True) -> Rendered:
        """Return the catalogue for the start of a session in `cwd`, within the limits. Raises InvalidArgument."""
        return render_initial(self.listing(cwd), self._limits, with_paths=with_paths)

    def catalogue(self, cwd: str | None = None, *, force_reload: bool = False) -> SkillCatalog:
        """Return the skills of that catalogue as values, within the same limits. Raises InvalidArgument."""
        listing = self.listing(cwd, force_reload=force_reload)
        rendered = render_initial(listing, self._limits)
        paths = {entry.path for entry in rendered.catalogue.entries}
        return SkillCatalog(
            skills=tuple(skill for skill in listing.skills if skill.path in paths),
            errors=listing.errors,
            truncated=rendered.catalogue.truncated,
        )


def context_entries(listing: Listing, *, with_paths: bool = True) -> list[CatalogueEntry]:
    """Return the entries for the skills that a model is shown; without `with_paths`, with ids in place of paths."""
    return [
        CatalogueEntry(
            name=skill.name,
            description=skill.description,
            path=skill.path if with_paths else skill.id,
            source=scope_source(skill),
            scope=skill.scope,
        )
        for skill in listing.shown
    ]


def render_initial(listing: Listing, limits: CatalogueLimits, *, with_paths: bool = True) -> Rendered:
    """Return `<skills_context>` for the skills of `listing`, within `limits`."""
    budget = Budget(max_entries=limits.max_entries, max_bytes=limits.max_bytes)
    return fit(
        context_entries(listing, with_paths=with_paths),
        budget,
        render_codelia,
        search_tool="skill_search",
        load_tool="skill_load",
    )


def skill_id(path: str) -> str:
    """Return the id of the SKILL.md at a canonical path, which is the same in every listing."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _always_enabled(_: Skill) -> bool:
    return True


def _listing(
    project: Project, snapshot: Snapshot, is_allowed: Callable[[Skill], bool], is_enabled: Callable[[Skill], bool]
) -> Listing:
    skills = [(_metadata(skill, snapshot.source(skill)), skill) for skill in snapshot.everything if is_allowed(skill)]
    skills.sort(key=lambda pair: (pair[0].scope != "repo", pair[0].path))
    return Listing(
        cwd=project.cwd,
        root=project.root,
        skills=tuple(metadata for metadata, _ in skills),
        errors=tuple(_errors(snapshot)),
        hidden=frozenset(metadata.path for metadata, skill in skills if skill.disable_model_invocation),
        disabled=frozenset(metadata.path for metadata, skill in skills if not is_enabled(skill)),
        by_path={metadata.path: skill for metadata, skill in skills},
    )


def _metadata(skill: Skill, source: Source) -> SkillMetadata:
    path = os.path.join(skill.directory, SKILL_FILE)
    return SkillMetadata(
        id=skill_id(path),
        name=skill.name,
        description=skill.description,
        path=path,
        dir=skill.directory,
        scope="repo" if source is Source.PROJECT else "user",
        mtimeMs=skill.stamp.mtime_ns / _NANOSECONDS_PER_MILLISECOND,
    )


def _errors(snapshot: Snapshot) -> Iterable[SkillLoadError]:
    for refused in snapshot.report.refused:
        reason = refused.reason
        line = f" (line {reason.line})" if reason.line else ""
        yield SkillLoadError(
            path=os.path.join(refused.directory, SKILL_FILE), message=f"{reason.message}{line}; {reason.hint}"
        )
    for problem in snapshot.report.problems:
        yield SkillLoadError(path=problem.path, message=problem.reason)
