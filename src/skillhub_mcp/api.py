"""Plain functions for programs: the registry, the catalogue and mentions in text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from skillhub_mcp.bootstrap.hub import make_hub
from skillhub_mcp.bootstrap.library import registry_admission
from skillhub_mcp.chosen_roots import project_of, project_trust, roots_of
from skillhub_mcp.disclosure.catalogue import FORMATS, Budget, Rendered, fit, render_available_skills
from skillhub_mcp.disclosure.mentions import Resolution
from skillhub_mcp.errors import InvalidArgument
from skillhub_mcp.sanitize import refuse_nul
from skillhub_mcp.settings import Settings, settings_of
from skillhub_mcp.skills.registry import AnyRoot, Registry, RegistryIndex


def build_index(
    roots: Sequence[AnyRoot] | None = None, *, lenient: bool = False, cwd: str | None = None
) -> RegistryIndex:
    """Return the skills below `roots` (by default of the settings for `cwd`) and a report. Raises SkillHubError."""
    refuse_nul(cwd=cwd)
    settings = _settings(cwd)
    if roots is None:
        roots = project_trust(settings).judged(roots_of(settings))
    return Registry(roots, admission=registry_admission(settings, lenient=lenient)).build_index()


def refresh_index(index: RegistryIndex, changes: Sequence[str] | None = None) -> RegistryIndex:
    """Return `index` updated with new and changed files, or only `changes`. Raises InvalidArgument."""
    if index.refresh is None:
        raise InvalidArgument("index", "did not come from build_index")
    return index.refresh(changes)


def available_skills(index: RegistryIndex) -> str:
    """Return the list for a model: the skills that models may invoke and that do not await trust."""
    return render_available_skills((entry.name, entry.source.value, entry.description) for entry in index.for_models)


def catalogue(format: str = "specification", *, budget: Budget | None = None, cwd: str | None = None) -> Rendered:  # noqa: A002 - the name of the command line's option
    """Return the list for a model of the skills that the settings give for `cwd`. Raises SkillHubError."""
    refuse_nul(format=format, cwd=cwd)
    if format not in FORMATS:
        raise InvalidArgument("format", f"{format!r} is not one of {', '.join(FORMATS)}")
    settings = _settings(cwd)
    with closing(make_hub(settings, background=False)) as hub:
        entries = hub.catalogue()
    default = Budget(
        max_entries=settings.disclosure.catalogue_max_entries, max_bytes=settings.disclosure.catalogue_max_bytes
    )
    return fit(entries, budget or default, FORMATS[format])


def resolve(text: str, *, cwd: str | None = None) -> Resolution:
    """Return the skills that `text` mentions as `$name` or by path. Raises SkillHubError."""
    refuse_nul(text=text, cwd=cwd)
    settings = _settings(cwd)
    with closing(make_hub(settings, background=False)) as hub:
        return hub.resolve(text, cwd=project_of(settings).cwd)


def _settings(cwd: str | None) -> Settings:
    return settings_of({} if cwd is None else {"SKILLHUB_CWD": cwd})
