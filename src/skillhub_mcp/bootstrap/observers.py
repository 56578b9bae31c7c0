"""The observers of a hub, and what its log reports."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from skillhub_mcp._util.json_lines import JsonLinesLog
from skillhub_mcp.bootstrap.library import unsearched_problems
from skillhub_mcp.bootstrap.policy import exposed_files, name_problems
from skillhub_mcp.chosen_roots import project_while_serving
from skillhub_mcp.disclosure.listing import count_skills
from skillhub_mcp.errors import PolicyUnreadable
from skillhub_mcp.events import CompositeObserver, Observer
from skillhub_mcp.hub import SkillHub
from skillhub_mcp.observers.audit import Audit, process_owner
from skillhub_mcp.observers.logs import AccessLog, LibraryLog
from skillhub_mcp.settings import Settings
from skillhub_mcp.skills.snapshot import Problem, Snapshot

if TYPE_CHECKING:
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.http.app import HttpOptions

log = logging.getLogger(__name__)
_start = logging.getLogger("skillhub_mcp.start")


def make_metrics(settings: Settings, *, shared: str = "") -> Prometheus | None:
    """Return the metrics, or None if they are off. Processes of one server share counts through `shared`."""
    if settings.observability.metrics == "0":
        return None
    if shared:
        # The library reads this variable, and nothing else, when it is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
    from skillhub_mcp.observers.prometheus import Prometheus

    return Prometheus(shared=shared, by_token=settings.observability.metrics == "tokens")


def log_library(hub: SkillHub, settings: Settings) -> None:
    """Log after each sync the problems that are new, and once the skills and files that need attention."""
    for problem in exposed_files(settings)[1]:
        log.warning("%s", problem.sentence())

    def named(snapshot: Snapshot) -> Sequence[Problem]:
        # A file that cannot be read is reported where it is used.
        with suppress(PolicyUnreadable):
            return name_problems(settings, snapshot)
        return ()

    library = LibraryLog(named, partial(unsearched_problems, settings))

    def report(_: bool) -> None:
        if view := hub.views.peek():
            library.report(view.snapshot)

    hub.views.subscribe(report)


def log_start(hub: SkillHub, settings: Settings, *, http: HttpOptions | None = None, address: str = "") -> None:
    """Log once how many skills are served, of which project, and over HTTP at which address."""
    facts: dict[str, object] = {"transport": "stdio"}
    if http is not None:
        facts = {"transport": "http", "tokens": 0, "address": address}
        if http.auth is not None:
            named = http.auth.tokens.read() if http.auth.tokens else None
            facts["tokens"] = bool(http.auth.token) + (len(named.tokens) if named else 0)
            if http.auth.jwt is not None:
                facts["issuer"] = http.auth.jwt.issuer
        if http.public_url:
            facts["public_address"] = http.public_url
    is_logged = threading.Event()

    def report(_: bool) -> None:
        view = hub.views.peek()
        if view is None or is_logged.is_set():
            return
        project = project_while_serving(settings)
        named = {} if settings.replica.read_only else {"project": project.root if project.exists else "none"}
        with suppress(PolicyUnreadable):
            served = count_skills(view.snapshot, hub.access.now()).served
            is_logged.set()
            _start.info("Ready", extra={"skills": served, **facts, **named})

    hub.views.subscribe(report)


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
