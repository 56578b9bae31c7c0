"""`skillhub serve`, and `skillhub` without a command: serve the skills over MCP, over stdio or HTTP."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillhub_mcp.cli.arguments import add_setting_options
from skillhub_mcp.cli.console import print_note
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from skillhub_mcp.errors import PolicyUnreadable

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from skillhub_mcp.hub import SkillHub
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.http.shutdown import GracefulServer
    from skillhub_mcp.settings import Settings, SettingSource

log = logging.getLogger("skillhub_mcp")

_HOST, _PORT = "127.0.0.1", 8000
_HIGHEST_PORT = 65_535
_MIN_TOKEN_CHARACTERS = 20


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Declare the arguments. Options that override a setting have no value unless they are typed."""
    transport = "transport to serve over (default: %(default)s)"
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help=transport)
    parser.add_argument("--host", help=f"address to listen on (default: {_HOST})")
    parser.add_argument("--port", type=_port, help=f"port to listen on; 0 chooses a free one (default: {_PORT})")
    workers = "processes, with --transport http (default: 1)"
    parser.add_argument("--workers", metavar="N", dest="--workers", default=argparse.SUPPRESS, help=workers)
    for name, setting, what in (
        ("--skip-auto-reindex", "SKILLHUB_SKIP_AUTO_REINDEX", "serve the last index, without looking for changes"),
        ("--read-only", "SKILLHUB_READ_ONLY", "serve the publication that SKILLHUB_DB_PATH names"),
        ("--frozen", "SKILLHUB_FROZEN", "withhold locked skills whose files have changed"),
        ("--enable-run", "SKILLHUB_ENABLE_RUN", "offer run_skill_command over stdio"),
        ("--enable-run-over-http", "--enable-run-over-http", "with --enable-run, offer it over HTTP too"),
        ("--allow-anonymous", "--allow-anonymous", "require no token, even from other machines"),
    ):
        parser.add_argument(name, dest=setting, action="store_true", default=argparse.SUPPRESS, help=what)
    parser.add_argument("--reindex", action="store_true", help="rebuild the index first")
    add_setting_options(parser)


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Serve the skills over MCP. An MCP client starts this over stdio; `skillhub` does the same if its input is not a
    terminal.
    """
    from skillhub_mcp.project import directories_in
    from skillhub_mcp.settings import unknown_settings

    settings, sources = _apply_settings(options)
    for source in sources:
        if source.problem is not None:
            log.warning("%s", source.note)
    for name, problem in unknown_settings(os.environ).items():
        log.warning("%s %s", name, problem)
    if args.transport == "http":
        return _over_http(args, settings, options)
    settings.client.paths = directories_in(os.environ)
    if "--workers" in options or not (args.host is None and args.port is None):
        log.warning("--host, --port and --workers have no effect without --transport http")
    server, hub = _make_server(settings, reindex=args.reindex)
    from skillhub_mcp.bootstrap.server import log_start
    from skillhub_mcp.server.stdio import serve_stdio

    log_start(hub, settings)
    if sys.stdin.isatty():
        print_note("Serving MCP over stdio and waiting for a client. To try the hub without one: skillhub demo")
    ended_by = serve_stdio(lambda: server.run(transport="stdio", show_banner=False))
    return EXIT_INTERRUPTED if ended_by is signal.SIGINT else EXIT_OK


def _over_http(args: argparse.Namespace, settings: Settings, options: Mapping[str, str]) -> int:
    from skillhub_mcp.bootstrap.hub import make_metrics
    from skillhub_mcp.bootstrap.server import http_options, log_start

    host, port, metrics = args.host or _HOST, _PORT if args.port is None else args.port, make_metrics(settings)
    # First, because this refuses a server that would be open unintentionally.
    http = http_options(settings, host=host, port=port, metrics=metrics)
    if 0 < len(settings.http.token) < _MIN_TOKEN_CHARACTERS:
        log.warning("SKILLHUB_TOKEN is short enough to guess; `skillhub token new` creates a safe one")
    server, hub = _make_server(settings, reindex=args.reindex, over_http=True, metrics=metrics)
    if settings.http.workers > 1:
        from skillhub_mcp._util.tempdir import scratch_directory
        from skillhub_mcp.server.http.workers import serve_by_workers

        with scratch_directory("workers") as shared:
            worker = _Worker(dict(options), host, port, secrets.token_bytes(32), shared)
            serve_by_workers(worker, http, settings.http.workers)
            return EXIT_FAILED
    from skillhub_mcp.server.http.app import serve_http

    serve_http(server, hub, http, on_listening=lambda address: log_start(hub, settings, http=http, address=address))
    return EXIT_OK


def _log_sandbox(hub: SkillHub) -> None:
    """Choose how commands are confined, and warn if they are not, or cannot be run."""
    from skillhub_mcp.errors import SandboxUnavailable
    from skillhub_mcp.execution.sandbox import OFF

    try:
        sandbox = hub.commands().sandbox()
    except SandboxUnavailable as error:
        log.warning("run_skill_command refuses every call. %s", error.message)
        return
    if sandbox is OFF:
        log.warning("SKILLHUB_SANDBOX=off: commands of skills run unconfined, with every right of this process's user")
    else:
        log.info("Commands of skills are confined by %s", sandbox.name)


def _apply_settings(options: Mapping[str, str]) -> tuple[Settings, Sequence[SettingSource]]:
    """Return the settings; log as they say, and hide this process's memory if it has secrets or runs programs."""
    from skillhub_mcp.settings import read_settings

    settings, sources = read_settings(os.environ, options)
    log_to_stderr(settings.observability.log_level, settings.observability.log_format)
    if settings.execution.enable_run or any(source.setting.secret and source.raw for source in sources):
        from skillhub_mcp.environment import hide_memory

        hide_memory()
    return settings, sources


def _make_server(
    settings: Settings, *, reindex: bool, over_http: bool = False, metrics: Prometheus | None = None
) -> tuple[FastMCP, SkillHub]:
    """Return the server and its hub, both not started yet, and log warnings about the configuration."""
    from skillhub_mcp.bootstrap.hub import make_hub
    from skillhub_mcp.bootstrap.server import log_library, server_options
    from skillhub_mcp.index.writer import SyncDepth
    from skillhub_mcp.server.app import make_server

    hub = make_hub(settings, metrics=metrics)
    log_library(hub, settings)
    chosen = server_options(settings, hub, over_http=over_http)
    if reindex:
        hub.refresh(SyncDepth.REBUILD)
    if settings.execution.enable_run and settings.replica.read_only:
        log.warning("run_skill_command is not offered with --read-only: a replica runs nothing")
    elif settings.execution.enable_run and not chosen.enable_run:
        log.warning("run_skill_command is not offered over HTTP without --enable-run-over-http")
    if chosen.enable_run:
        _log_sandbox(hub)
    try:
        hub.access.now()
    except PolicyUnreadable as error:
        # The server still starts, so that it can report this to clients; an invalid rule never allows anything.
        log.warning("%s (%s): nothing is served until it is fixed", error.message, error.path)
    return make_server(hub, chosen), hub


@dataclass(frozen=True, slots=True)
class _Worker:
    """Makes the server of a worker process. It is pickled here and called there. All share the directory `shared`."""

    options: Mapping[str, str]
    host: str
    port: int
    state_key: bytes = field(repr=False)
    shared: str

    def __call__(self, address: str) -> GracefulServer:
        from multiprocessing import current_process

        from skillhub_mcp.bootstrap.hub import make_hub, make_metrics
        from skillhub_mcp.bootstrap.server import http_options, log_library, log_start, server_options
        from skillhub_mcp.server.app import make_server
        from skillhub_mcp.server.http.app import make_http_app, make_uvicorn
        from skillhub_mcp.server.http.workers import FIRST_WORKER

        settings, _ = _apply_settings(self.options)
        metrics = make_metrics(settings, shared=self.shared)
        http = http_options(settings, host=self.host, port=self.port, metrics=metrics)
        hub = make_hub(settings, metrics=metrics)
        if current_process().name == FIRST_WORKER:
            # The others see the same files.
            log_library(hub, settings)
            log_start(hub, settings, http=http, address=address)
        agreements = os.path.join(self.shared, "agreements")
        chosen = server_options(settings, hub, over_http=True, state_key=self.state_key, agreements=agreements)
        return make_uvicorn(make_http_app(make_server(hub, chosen), hub, http), http)


def _port(written: str) -> int:
    if not (written.isdecimal() and int(written) <= _HIGHEST_PORT):
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 65535")
    return int(written)
