"""Which skills does seed 000 list for a working directory? One catalogue each, made anew when asked (§10.3)."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from skillhub_mcp.disclosure.catalogue import Budget, CatalogueEntry, Rendered, codelia, fit
from skillhub_mcp.disclosure.context.schema import SkillCatalog, SkillLoadError, SkillMetadata
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.lru import LRUCache
from skillhub_mcp.project import Project
from skillhub_mcp.skills.admission import CODELIA
from skillhub_mcp.skills.model import SKILL_FILE, Skill
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import Source, codelia_roots
from skillhub_mcp.skills.snapshot import Snapshot

_MAX_CATALOGUES = 32
_NANOSECONDS_A_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class CatalogueLimits:
    """How much of a catalogue a session begins with: skills, and bytes of UTF-8 of the whole text (§6.1)."""

    max_entries: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Every skill of one working directory, repo before user and then by path, and every error.

    `hidden` are the paths of those that no list and no search shows a model (`disable-model-invocation`), and `off`
    of those that a person switched off or a rule denies. `known` has what was read of each, by path.
    """

    cwd: str
    root: str
    skills: tuple[SkillMetadata, ...]
    errors: tuple[SkillLoadError, ...]
    hidden: frozenset[str]
    off: frozenset[str]
    known: Mapping[str, Skill]

    @property
    def shown(self) -> tuple[SkillMetadata, ...]:
        """The skills that a model is shown."""
        return tuple(skill for skill in self.skills if skill.path not in self.hidden and skill.path not in self.off)


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    registry: Registry
    offers: Callable[[Skill], bool]
    listing: Listing


class Catalogues:
    """The catalogues of the working directories that were asked for, the last 32 of them. Safe to call from threads.

    `project_of` says which project a directory belongs to; an empty one stands for the default. `home` has the user's
    skills. What `allows` does not let through is as if it were not there. `offers_in` returns, for a project's root,
    what says whether a skill is on there; an equal answer means that nothing was switched since, and that the same
    skills are allowed. `tells_errors` is whether what could not be read is told.
    """

    def __init__(
        self,
        project_of: Callable[[str], Project],
        *,
        home: str,
        limits: CatalogueLimits,
        allows: Callable[[Skill], bool] = lambda _: True,
        offers_in: Callable[[str], Callable[[Skill], bool]] = lambda _: _everything,
        tells_errors: Callable[[], bool] = lambda: True,
    ) -> None:
        self._project_of = project_of
        self._allows = allows
        self._offers_in = offers_in
        self._tells_errors = tells_errors
        self._home = home
        self._limits = limits
        self._lock = threading.Lock()
        self._cache: LRUCache[str, _CacheEntry] = LRUCache(_MAX_CATALOGUES)

    def listing(self, cwd: str | None = None, *, force_reload: bool = False) -> Listing:
        """Return the skills for `cwd`; without `force_reload` as they were when they were last looked at (§10.1).

        Raises InvalidArgument for a working directory that is none.
        """
        if cwd is not None and not os.path.isdir(os.path.expanduser(cwd)):
            raise InvalidArgument("cwd", f"{cwd!r} is not a directory")
        project = self._project_of(os.path.expanduser(cwd or ""))
        offers = self._offers_in(project.root)
        with self._lock:
            known = self._cache.get(project.cwd)
            if known is not None and known.offers == offers and not force_reload:
                return known.listing
            if known is None:
                registry = Registry(codelia_roots(project, home=self._home), admission=CODELIA)
            else:
                registry = known.registry
                if force_reload:
                    registry.refresh_index()
            listing = _listing(project, registry.snapshot, self._allows, offers)
            if not self._tells_errors():
                listing = replace(listing, errors=())
            self._cache.put(project.cwd, _CacheEntry(registry, offers, listing))
            return listing

    def initial(self, cwd: str | None = None, *, with_paths: bool = True) -> Rendered:
        """Return the text that a session in `cwd` begins with, within the limits (§6.1). Raises InvalidArgument."""
        return initial_text(self.listing(cwd), self._limits, with_paths=with_paths)

    def catalogue(self, cwd: str | None = None, *, force_reload: bool = False) -> SkillCatalog:
        """Return the skills that a session in `cwd` begins with, within the limits (§6.1). Raises InvalidArgument."""
        listing = self.listing(cwd, force_reload=force_reload)
        rendered = initial_text(listing, self._limits)
        paths = {entry.path for entry in rendered.catalogue.entries}
        return SkillCatalog(
            skills=tuple(skill for skill in listing.skills if skill.path in paths),
            errors=listing.errors,
            truncated=rendered.catalogue.truncated,
        )


def entries_of(listing: Listing, *, with_paths: bool = True) -> list[CatalogueEntry]:
    """Return the skills that a model is shown, as a catalogue has them; ids stand for paths that are not told."""
    return [
        CatalogueEntry(
            name=skill.name,
            description=skill.description,
            path=skill.path if with_paths else skill.id,
            source="project" if skill.scope == "repo" else "user",
            scope=skill.scope,
        )
        for skill in listing.shown
    ]


def initial_text(listing: Listing, limits: CatalogueLimits, *, with_paths: bool = True) -> Rendered:
    """Return `<skills_context>` for the skills of `listing`, within `limits`."""
    budget = Budget(max_entries=limits.max_entries, max_bytes=limits.max_bytes)
    return fit(
        entries_of(listing, with_paths=with_paths), budget, codelia, search_tool="skill_search", load_tool="skill_load"
    )


def skill_id(path: str) -> str:
    """Return the id of the SKILL.md at a canonical path: the same for the same file in every listing (§4)."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _everything(_: Skill) -> bool:
    return True


def _listing(
    project: Project, snapshot: Snapshot, allows: Callable[[Skill], bool], offers: Callable[[Skill], bool]
) -> Listing:
    skills = [(_metadata(skill, snapshot.source(skill)), skill) for skill in snapshot.everything if allows(skill)]
    skills.sort(key=lambda pair: (pair[0].scope != "repo", pair[0].path))
    return Listing(
        cwd=project.cwd,
        root=project.root,
        skills=tuple(metadata for metadata, _ in skills),
        errors=tuple(_errors(snapshot)),
        hidden=frozenset(metadata.path for metadata, skill in skills if skill.disable_model_invocation),
        off=frozenset(metadata.path for metadata, skill in skills if not offers(skill)),
        known={metadata.path: skill for metadata, skill in skills},
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
        mtimeMs=skill.stamp.mtime_ns / _NANOSECONDS_A_MILLISECOND,
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
