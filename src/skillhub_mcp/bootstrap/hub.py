"""The hub over directories, or over a publication."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from skillhub_mcp.bootstrap.commands import command_options
from skillhub_mcp.bootstrap.library import unsearched_problems
from skillhub_mcp.bootstrap.models import QueryEmbedder, choose_embedder, choose_reranker
from skillhub_mcp.bootstrap.observers import make_observer
from skillhub_mcp.bootstrap.places import mirror_directory
from skillhub_mcp.bootstrap.policy import KeptOnDemand, make_access, make_auditor, may_be_sent
from skillhub_mcp.bootstrap.publication import publication_target
from skillhub_mcp.chosen_roots import RootsFollower, project_trust, recorded_roots_problem, roots_of
from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.reader import SkillReader
from skillhub_mcp.errors import InvalidSetting
from skillhub_mcp.events import Observer
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.connection import IN_MEMORY
from skillhub_mcp.index.live import LiveOptions, LiveView
from skillhub_mcp.index.own_names import something_else
from skillhub_mcp.index.progress import IndexProgress, ProgressCallback, no_progress
from skillhub_mcp.index.row_embedder import EmbeddingOptions
from skillhub_mcp.index.state_file import NO_EMBEDDING
from skillhub_mcp.index.views import ViewSource
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.search.engine import SearchEngine, SearchOptions
from skillhub_mcp.search.searcher import Searcher, SearchMode
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.admission import LENIENT, STRICT
from skillhub_mcp.skills.files import ReadLimits
from skillhub_mcp.skills.skill_dirs import FilesOf, own_directory
from skillhub_mcp.usage import UsageLog

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.store.replica import PublicationHealth

log = logging.getLogger(__name__)

# What a directory has that something was published to, by this version or an earlier one.
_PUBLISHED = ("publications.lance", "publication.json")


def make_hub(
    settings: Settings,
    *,
    background: bool = True,
    asks: bool | None = None,
    progress: ProgressCallback = no_progress,
    observer: Observer | None = None,
    for_shell: bool = False,
) -> SkillHub:
    """Return the hub that `settings` describe. Reads no skill yet and imports no heavy library.

    With `background`, for a server, a thread keeps it fresh; without, for a command, it looks for changes once. By
    default a server `asks` for consent where no rule allows or denies something, and a command does not, since its user
    typed it. `observer` defaults to that of `make_observer`. With `for_shell` errors name what is typed in a shell, and
    paths. Raises InvalidSetting, and for a publication in a bucket StorageNotInstalled.
    """
    observer = observer or make_observer(settings, serving=background)
    asks = background if asks is None else asks
    if settings.replica.read_only:
        return _replica_hub(
            settings, background=background, asks=asks, progress=progress, observer=observer, for_shell=for_shell
        )
    if any(os.path.exists(os.path.join(settings.index.db_path, name)) for name in _PUBLISHED):
        raise InvalidSetting(
            "SKILLHUB_DB_PATH",
            settings.index.db_path,
            "is a publication, in which no index is written",
            hint="set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it, or set SKILLHUB_DB_PATH to another path",
        )
    found = something_else(settings.index.db_path)
    if found is not None:
        raise InvalidSetting(
            "SKILLHUB_DB_PATH",
            settings.index.db_path,
            f"is a directory that has something else in it ({found!r}), and no index",
            hint="set SKILLHUB_DB_PATH to a directory that is empty or not there yet, such as "
            + os.path.join(settings.index.db_path, "skills.lancedb"),
        )
    unreadable = recorded_roots_problem()
    if unreadable is not None:
        log.warning("%s", unreadable.sentence())
    roots = roots_of(settings)
    index_progress = IndexProgress(progress)
    embedder = QueryEmbedder(choose_embedder(settings))
    automatic = not settings.index.skip_auto_reindex
    trust = project_trust(settings)
    writer = IndexWriter(
        settings.index.db_path,
        embedder=embedder.chosen,
        # A provider that fails at indexing is not asked at the next search either.
        embedding=_embedding_options(settings, embedder),
        progress=index_progress.report,
    )
    live = LiveView(
        roots,
        writer,
        LiveOptions(
            automatic=automatic,
            background=background,
            admission=STRICT if settings.skills.strict else LENIENT,
            judge=trust.judged,
            choose_roots=RootsFollower(settings, roots, trust),
        ),
        make_spare=lambda: IndexWriter(IN_MEMORY, embedder=None),
        observer=observer,
        progress=index_progress,
    )
    auditor = make_auditor(settings)
    if auditor is not None and background:
        live.subscribe(partial(_audit_behind, auditor, live))
    return _hub_over(live, settings, embedder, auditor=auditor, asks=asks, observer=observer, for_shell=for_shell)


def _embedding_options(settings: Settings, embedder: QueryEmbedder) -> EmbeddingOptions:
    options = EmbeddingOptions(on_failure=embedder.breaker.record_failure)
    if settings.embedding.provider not in ("openai", "gemini"):
        return options
    return replace(options, sendable=partial(may_be_sent, settings))


def index_writer(settings: Settings) -> IndexWriter:
    """Return the writer of the index that `settings` describe, for who embeds nothing. Reads nothing yet."""
    return IndexWriter(settings.index.db_path, embedder=choose_embedder(settings))


def _replica_hub(
    settings: Settings,
    *,
    background: bool,
    asks: bool,
    progress: ProgressCallback,
    observer: Observer,
    for_shell: bool,
) -> SkillHub:
    """Return the hub over a publication. Raises StorageNotInstalled, and InvalidSetting for its options."""
    from skillhub_mcp.store.mirror import Mirror
    from skillhub_mcp.store.replica import Replica, ReplicaOptions

    embedder = QueryEmbedder(choose_embedder(settings))
    replica = Replica(
        publication_target(settings, settings.index.db_path),
        Mirror(mirror_directory(settings)),
        ReplicaOptions(
            refresh_seconds=settings.replica.refresh_seconds,
            embedding=NO_EMBEDDING if embedder.chosen is None else embedder.chosen.identity,
            admission=STRICT if settings.skills.strict else LENIENT,
        ),
        background=background,
        progress=IndexProgress(progress),
        observer=observer,
    )
    auditor = make_auditor(settings, files_of=replica.files_of)
    if auditor is not None and background and auditor.blocks:
        # Elsewhere each is audited when it is loaded: here that would copy every skill of the publication.
        replica.subscribe(partial(_audit_behind, auditor, replica))
    return _hub_over(
        replica,
        settings,
        embedder,
        auditor=auditor,
        asks=asks,
        observer=observer,
        for_shell=for_shell,
        files_of=replica.files_of,
        publication=replica.health,
    )


def _hub_over(
    views: ViewSource,
    settings: Settings,
    embedder: QueryEmbedder,
    *,
    auditor: Auditor | None,
    asks: bool,
    observer: Observer,
    for_shell: bool,
    files_of: FilesOf = own_directory,
    publication: Callable[[], PublicationHealth] | None = None,
) -> SkillHub:
    kept = KeptOnDemand(settings, for_shell=for_shell)
    access = make_access(settings, asks=asks, auditor=auditor, kept=kept)
    usage = UsageLog(settings.observability.usage_log) if settings.observability.usage_log else None
    search_tool = "`skillhub search`" if for_shell else "search_skills" if "core" in settings.disclosure.tools else ""
    lookup = SkillLookup(views, access, search_tool=search_tool)
    return SkillHub(
        views,
        access=access,
        engine=SearchEngine(
            views,
            access,
            Searcher(
                mode=SearchMode(settings.search.mode),
                fields=frozenset(settings.search.fields),
                embedder=embedder.chosen,
                embedder_breaker=embedder.breaker,
                model=choose_reranker(settings),
                observer=observer,
            ),
            SearchOptions(settings.search.limit, settings.search.threshold, settings.search.confidence),
            usage=usage,
            observer=observer,
        ),
        lookup=lookup,
        reader=SkillReader(
            lookup,
            files=ReadLimits(
                max_bytes=settings.disclosure.max_file_bytes, serve_dotfiles=settings.disclosure.serve_dotfiles
            ),
            files_of=files_of,
            usage=usage,
            observer=observer,
            auditor=auditor,
        ),
        commands=cache(partial(command_options, settings)),
        elsewhere=partial(unsearched_problems, settings),
        observer=observer,
        auditor=auditor,
        files_of=files_of,
        publication=publication,
        kept=None if settings.replica.read_only else kept,
    )


def _audit_behind(auditor: Auditor, live: ViewSource, _: bool) -> None:
    view = live.peek()
    if view is not None:
        auditor.follow(view.snapshot.everything)
