"""The hub over directories or over a publication, its models and observers, and what is published."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.bootstrap.library import (
    beside_index,
    exposed_files,
    lock_verifier,
    make_access,
    make_auditor,
    may_be_sent,
    mirror_directory,
    name_problems,
    unsearched_places,
    unsearched_problems,
)
from skillhub_mcp.chosen_roots import (
    RootsFollower,
    project_trust,
    project_while_serving,
    recorded_roots_problem,
    roots_of,
)
from skillhub_mcp.disclosure.lookup import SkillLookup
from skillhub_mcp.disclosure.reader import SkillReader
from skillhub_mcp.embedders import Embedder, local, make_embedder
from skillhub_mcp.embedders.circuit_breaker import CircuitBreaker
from skillhub_mcp.environment import expand_home
from skillhub_mcp.errors import IndexUnavailable, InvalidSetting
from skillhub_mcp.events import CompositeObserver, Observer
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.index.lance import IndexDamaged
from skillhub_mcp.index.live import LiveOptions, LiveView
from skillhub_mcp.index.progress import IndexProgress, ProgressCallback, no_progress
from skillhub_mcp.index.rows import EmbeddingOptions
from skillhub_mcp.index.state_file import NO_EMBEDDING, something_else
from skillhub_mcp.index.views import ViewSource
from skillhub_mcp.index.writer import IndexWriter
from skillhub_mcp.observers.audit import Audit, process_owner
from skillhub_mcp.observers.logs import AccessLog
from skillhub_mcp.search.engine import SearchEngine, SearchOptions
from skillhub_mcp.search.rerankers import Reranker, make_reranker
from skillhub_mcp.search.searcher import PROVIDER_REST_SECONDS, Searcher, SearchMode
from skillhub_mcp.settings import DEFAULT_USAGE_LOG, Settings, SettingSource, local_path
from skillhub_mcp.skills.admission import LENIENT, STRICT
from skillhub_mcp.skills.discovery import own_directory
from skillhub_mcp.skills.files.content import ReadLimits
from skillhub_mcp.usage import UsageLog

if TYPE_CHECKING:
    from skillhub_mcp.auditing.auditor import Auditor
    from skillhub_mcp.diagnosis.installation import Installation
    from skillhub_mcp.execution.skill_command import CommandOptions
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.store.publish import LibraryToStore
    from skillhub_mcp.store.replica import Replica

log = logging.getLogger(__name__)


def make_hub(
    settings: Settings,
    *,
    background: bool = True,
    progress: ProgressCallback = no_progress,
    observer: Observer | None = None,
    metrics: Prometheus | None = None,
    for_shell: bool = False,
) -> SkillHub:
    """Return the hub that `settings` describe. Raises InvalidSetting and StorageUnavailable.

    With `background`, for a server, a thread keeps it fresh, and what no rule decides needs consent; without, a command
    looks for changes once. With `for_shell`, errors name commands and paths instead of tools.
    """
    observer = observer or make_observer(settings, serving=background, metrics=metrics)
    embedder = choose_embedder(settings)
    breaker = CircuitBreaker(PROVIDER_REST_SECONDS)
    index_progress = IndexProgress(progress)
    replica = None
    if settings.replica.read_only:
        replica = _make_replica(settings, embedder, index_progress, observer, background)
    views = replica or _make_live(settings, embedder, breaker, index_progress, observer, background)
    files_of = own_directory if replica is None else replica.files_of
    auditor = make_auditor(settings, files_of=files_of)
    # A replica audits a skill when it is loaded: in the background that would copy every skill of the publication.
    if auditor is not None and background and (replica is None or auditor.blocks):
        views.subscribe(partial(_audit_behind, auditor, views))
    kept = cache(partial(lock_verifier, settings, for_shell=for_shell))
    access = make_access(settings, asks=background, auditor=auditor, kept=kept)
    observed = settings.observability
    usage = None
    if observed.usage != "off":
        path = observed.usage_log or expand_home(DEFAULT_USAGE_LOG)
        usage = UsageLog(path, with_queries=observed.usage == "queries", asked_for=bool(observed.usage_log))
    search_tool = "`skillhub search`" if for_shell else "search_skills" if "core" in settings.disclosure.tools else ""
    lookup = SkillLookup(views, access, search_tool=search_tool)
    searcher = Searcher(
        mode=SearchMode(settings.search.mode),
        fields=frozenset(settings.search.fields),
        embedder=embedder,
        embedder_breaker=breaker,
        model=choose_reranker(settings),
        observer=observer,
    )
    cuts = SearchOptions(settings.search.limit, settings.search.threshold, settings.search.confidence)
    reader = SkillReader(
        lookup,
        files=ReadLimits(settings.disclosure.max_file_bytes, serve_dotfiles=settings.disclosure.serve_dotfiles),
        files_of=files_of,
        usage=usage,
        observer=observer,
        auditor=auditor,
    )
    return SkillHub(
        views,
        access=access,
        engine=SearchEngine(views, access, searcher, cuts, usage=usage, observer=observer),
        lookup=lookup,
        reader=reader,
        commands=cache(partial(_command_options, settings)),
        elsewhere=partial(unsearched_problems, settings),
        project=None if replica or "project" not in settings.skills.roots else partial(project_while_serving, settings),
        observer=observer,
        auditor=auditor,
        files_of=files_of,
        publication=None if replica is None else lambda: replica.health,
        locks=kept if replica is None else None,
    )


def index_writer(settings: Settings) -> IndexWriter:
    """Return the writer of the index that `settings` describe, for callers that embed nothing. Reads nothing yet."""
    return IndexWriter(settings.index.db_path, embedder=choose_embedder(settings))


def installation_of(settings: Settings, sources: Sequence[SettingSource], hub: SkillHub) -> Installation:
    """Return what `skillhub doctor` checks: the settings with their sources, and the hub that they describe."""
    from skillhub_mcp.diagnosis.installation import Installation

    return Installation(
        settings,
        sources,
        hub,
        index_writer(settings),
        unsearched=partial(unsearched_places, settings),
        unknown_names=partial(name_problems, settings),
        exposed=partial(exposed_files, settings),
    )


def make_observer(settings: Settings, *, serving: bool, metrics: Prometheus | None = None) -> Observer:
    """Return the observer of a hub: logs and audit for a server, OpenTelemetry if the program configured it."""
    observers: list[Observer] = []
    if "opentelemetry" in sys.modules:
        from skillhub_mcp.observers.open_telemetry import OpenTelemetry, is_configured

        observers += [OpenTelemetry()] if is_configured() else []
    if metrics is not None:
        observers.append(metrics)
    if serving:
        observers.append(AccessLog())
    if serving or settings.observability.audit_log:
        path = settings.observability.audit_log
        file = JsonLinesLog(path, label="The audit log") if path else None
        if serving and file:
            file.create()
        observers.append(Audit(owner=process_owner(), file=file))
    return CompositeObserver(observers)


def make_metrics(settings: Settings, *, shared: str = "") -> Prometheus | None:
    """Return the metrics, or None if they are off. Processes of one server share counts through `shared`."""
    if settings.observability.metrics == "0":
        return None
    if shared:
        # The library reads this variable, and nothing else, when it is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
    from skillhub_mcp.observers.prometheus import Prometheus

    return Prometheus(shared=shared, by_token=settings.observability.metrics == "tokens")


def _make_live(
    settings: Settings,
    embedder: Embedder | None,
    breaker: CircuitBreaker,
    progress: IndexProgress,
    observer: Observer,
    background: bool,
) -> LiveView:
    """Return the view of the directories. Raises InvalidSetting if the index cannot be written where it should be."""
    path = settings.index.db_path
    if os.path.exists(os.path.join(path, "publications.lance")):
        hint = "set SKILLHUB_READ_ONLY=1 or pass --read-only to serve it, or set SKILLHUB_DB_PATH to another path"
        raise InvalidSetting("SKILLHUB_DB_PATH", path, "is a publication, in which no index is written", hint=hint)
    if found := something_else(path):
        reason = f"is a directory that has something else in it ({found!r}), and no index"
        hint = f"set SKILLHUB_DB_PATH to an empty or new directory, such as {os.path.join(path, 'skills.lancedb')}"
        raise InvalidSetting("SKILLHUB_DB_PATH", path, reason, hint=hint)
    if unreadable := recorded_roots_problem():
        log.warning("%s", unreadable.sentence())
    # A provider that fails at indexing is not asked at the next search either.
    embedding = EmbeddingOptions(on_failure=breaker.record_failure)
    if settings.embedding.provider in ("openai", "gemini"):
        embedding = replace(embedding, sendable=partial(may_be_sent, settings))
    roots, trust = roots_of(settings), project_trust(settings)
    return LiveView(
        roots,
        IndexWriter(path, embedder=embedder, embedding=embedding, progress=progress.report),
        LiveOptions(
            automatic=not settings.index.skip_auto_reindex,
            background=background,
            admission=STRICT if settings.skills.strict else LENIENT,
            judge=trust.judged,
            choose_roots=RootsFollower(settings, roots, trust),
        ),
        observer=observer,
        progress=progress,
    )


def _make_replica(
    settings: Settings, embedder: Embedder | None, progress: IndexProgress, observer: Observer, background: bool
) -> Replica:
    """Return the view of a publication. Raises StorageUnavailable, and InvalidSetting for its options."""
    from skillhub_mcp.store.replica import Mirror, Replica
    from skillhub_mcp.store.tables import open_target

    return Replica(
        open_target(settings.index.db_path, settings.storage.options),
        Mirror(mirror_directory(settings)),
        embedding=NO_EMBEDDING if embedder is None else embedder.identity,
        refresh_seconds=settings.replica.refresh_seconds,
        admission=STRICT if settings.skills.strict else LENIENT,
        background=background,
        progress=progress,
        observer=observer,
    )


def _audit_behind(auditor: Auditor, views: ViewSource, _: bool) -> None:
    if view := views.peek():
        auditor.follow(view.snapshot.everything)


def _command_options(settings: Settings) -> CommandOptions:
    """Return how commands of skills run: the allow list, the limits and the sandbox."""
    from skillhub_mcp.execution.outputs import Outputs  # only servers that run commands load it
    from skillhub_mcp.execution.runner import RunLimits
    from skillhub_mcp.execution.sandbox import find_sandbox
    from skillhub_mcp.execution.skill_command import CommandOptions

    outputs, caches = beside_index(settings, "outputs"), beside_index(settings, "packages")
    hidden = ("~/.skillhub", os.path.abspath(settings.index.db_path), outputs, caches)
    execution = settings.execution
    return CommandOptions(
        execution.allowed_commands,
        RunLimits(execution.timeout_seconds, execution.max_output_bytes),
        sandbox=partial(find_sandbox, execution.sandbox),
        outputs=Outputs(outputs, execution.output_dirs),
        caches=caches,
        hidden=tuple(map(expand_home, hidden)),
    )


def choose_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    chosen = settings.embedding
    if chosen.provider == "local" or (chosen.provider == "auto" and local.is_installed()):
        return local.LocalEmbedder()
    if chosen.provider == "onnx":
        from skillhub_mcp.embedders.onnx import OnnxEmbedder  # loaded only if it is used

        return OnnxEmbedder(local_path(chosen.model))
    if chosen.provider not in ("openai", "gemini"):
        return None
    return make_embedder(chosen.provider, model=chosen.model, api_key=chosen.api_key, base_url=chosen.base_url or None)


def choose_reranker(settings: Settings) -> Reranker | None:
    """Return the reranker that `settings` choose, or None. Imports no SDK, loads no model and sends no request."""
    chosen, api = settings.search, settings.embedding
    if chosen.rerank == "local":
        from skillhub_mcp.search.rerankers.local import LocalReranker  # loaded only if it is used

        return LocalReranker(local_path(chosen.rerank_model))
    if chosen.rerank == "0" or api.provider not in ("openai", "gemini"):
        return None
    return make_reranker(api.provider, model=chosen.rerank_model, api_key=api.api_key, base_url=api.base_url or None)


def library_to_publish(settings: Settings, hub: SkillHub) -> LibraryToStore:
    """Update the index and return what is published of the library. Raises IndexUnavailable."""
    from skillhub_mcp.store.publish import library_to_store

    view = hub.refresh()
    if view.problem is not None:
        raise view.problem
    if view.snapshot.report.unavailable:
        missing = view.snapshot.report.unavailable[0]
        hint = f"bring it back, or drop its skills with skillhub index --forget {missing.path}"
        message = f"Skills cannot be published without those of {missing.path}, which {missing.reason}"
        raise IndexUnavailable(message, hint=hint)
    state, index = index_writer(settings).state(), view.index
    if state is None or index is None or state.published != index.published:
        raise IndexUnavailable("The index changed while it was to be published", hint="publish again")
    try:
        table = index.table
    except IndexDamaged as error:
        hint = "skillhub index --verify finds out what is wrong with it"
        raise IndexUnavailable(f"The index cannot be read: {error}", hint=hint) from error
    return library_to_store(view.snapshot, hub.access.now(), state, table)
