"""Settings in, a working hub out: the only place that chooses implementations."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.execution.commands import CommandPolicy
from skillhub_mcp.execution.runner import RunLimits, reduced_environment
from skillhub_mcp.hub import SearchOptions, SkillHub
from skillhub_mcp.project import Project, find_project
from skillhub_mcp.search.embedders import Embedder, EmbedderOptions, make_embedder
from skillhub_mcp.search.freshness import LiveIndex
from skillhub_mcp.search.indexing import Indexer, Progress, no_progress
from skillhub_mcp.search.lance import IN_MEMORY
from skillhub_mcp.search.looking import Looker
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.admission import LENIENT, REGISTRY_LENIENT, STRICT, Admission, registry_strict
from skillhub_mcp.skills.builtin import builtin_directory
from skillhub_mcp.skills.files import ReadLimits
from skillhub_mcp.skills.registry import Registry
from skillhub_mcp.skills.roots import SkillRoot, choose_roots
from skillhub_mcp.skills.visibility import Visibility

if TYPE_CHECKING:
    from skillhub_mcp.disclosure.context.catalogue import Catalogues


def roots_of(settings: Settings) -> tuple[SkillRoot, ...]:
    """Return the roots that `settings` choose, the strongest first (DECISIONS 7). Raises InvalidSetting."""
    return choose_roots(
        settings.roots,
        project=project_of(settings),
        home=os.path.expanduser("~"),
        hub=settings.skills_dirs,
        builtin=builtin_directory(),
    )


def project_of(settings: Settings) -> Project:
    """Return the project that `settings` describe, or that the process runs in (DECISIONS 8). Raises InvalidSetting."""
    home = os.path.expanduser("~")
    if settings.cwd and not os.path.isdir(os.path.expanduser(settings.cwd)):
        raise InvalidSetting("SKILLHUB_CWD", settings.cwd, "is not a directory")
    try:
        cwd = os.path.expanduser(settings.cwd) or os.getcwd()
    except FileNotFoundError:
        # The directory we were started in is gone: it holds no skills, and the person's own are still there.
        cwd = home
    return find_project(cwd, root=settings.project_root, markers=settings.markers, home=home)


def registry_admission(settings: Settings, *, lenient: bool = False) -> Admission:
    """Return which skills seed 003's registry takes, within the bounds that `settings` give."""
    if lenient:
        return REGISTRY_LENIENT
    return registry_strict(
        max_header_lines=settings.registry_max_lines, max_line_characters=settings.registry_max_line_characters
    )


def make_registry(settings: Settings, *, lenient: bool = False) -> Registry:
    """Return seed 003's registry over the roots that `settings` choose. Reads nothing yet. Raises InvalidSetting."""
    return Registry(roots_of(settings), admission=registry_admission(settings, lenient=lenient))


def make_catalogues(settings: Settings) -> Catalogues:
    """Return seed 000's catalogues, by working directory. Reads nothing yet."""
    from skillhub_mcp.disclosure.context.catalogue import CatalogueLimits, Catalogues

    return Catalogues(
        lambda cwd: project_of(replace(settings, cwd=cwd or settings.cwd)),
        home=os.path.expanduser("~"),
        limits=CatalogueLimits(settings.catalogue_max_entries, settings.catalogue_max_bytes),
        allows=_visibility(settings).allows,
    )


def _visibility(settings: Settings) -> Visibility:
    return Visibility(settings.enabled_skills, settings.enabled_categories)


def make_hub(settings: Settings, *, background: bool = True, progress: Progress = no_progress) -> SkillHub:
    """Return the hub that `settings` describe. Reads no skill yet and loads no heavy library.

    With `background`, a thread keeps it fresh, as a server needs; without, it looks once, as a command needs.
    """
    roots = roots_of(settings)
    embedder = _embedder(settings)
    automatic = not settings.skip_auto_reindex
    looker = Looker(
        roots,
        Indexer(settings.db_path, roots, embedder=embedder, progress=progress),
        make_spare=lambda: Indexer(IN_MEMORY, roots, embedder=None),
        automatic=automatic,
        admission=STRICT if settings.strict else LENIENT,
    )
    return SkillHub(
        LiveIndex(roots, looker, automatic=automatic, background=background),
        visibility=_visibility(settings),
        search=SearchOptions(settings.search_limit, settings.search_threshold),
        files=ReadLimits(max_bytes=settings.max_file_bytes, serve_dotfiles=settings.serve_dotfiles),
        max_body_bytes=settings.max_body_bytes,
        commands=CommandPolicy(settings.allowed_commands),
        run_limits=RunLimits(settings.exec_timeout_seconds, settings.exec_max_output_bytes),
        embedder=embedder,
        environment=lambda: reduced_environment(os.environ),
    )


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedding_provider == "none":
        return None
    keys = {"openai": settings.openai_api_key, "gemini": settings.gemini_api_key}
    return make_embedder(
        EmbedderOptions(
            provider=settings.embedding_provider,
            model=settings.embedding_model or None,
            api_key=keys[settings.embedding_provider],
            base_url=settings.embedding_base_url or None,
        )
    )
