"""`skillhub`: serve the skills over MCP (seed 002 §7, DECISIONS 5)."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import EXIT_FAILED, EXIT_OK
from skillhub_mcp.errors import PolicyUnreadable

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from skillhub_mcp.hub import SkillHub
    from skillhub_mcp.observers.prometheus import Prometheus
    from skillhub_mcp.server.http.shutdown import GracefulServer
    from skillhub_mcp.settings import Settings

log = logging.getLogger("skillhub_mcp")

_HIGHEST_PORT = 65_535
_GOOD_TOKEN = 20
_PORT = 8_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what may be typed without a command."""
    serving = parser.add_argument_group("serving over MCP")
    serving.add_argument("--transport", choices=("stdio", "http"), help="how clients connect (default: stdio)")
    serving.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serving.add_argument(
        "--port", type=_port, default=_PORT, help="port to listen on; 0 takes a free one (default: 8000)"
    )
    serving.add_argument("--reindex", action="store_true", help="rebuild the index; without --transport, then exit")
    serving.add_argument(
        "--json", dest="reindex_json", action="store_true", help="with --reindex alone, print its report as JSON"
    )
    serving.add_argument("--skip-auto-reindex", action="store_true", help="serve the index as it was last written")
    serving.add_argument("--enable-run", action="store_true", help="offer run_skill_command over stdio")
    serving.add_argument(
        "--enable-run-over-http", action="store_true", help="with --enable-run, offer it over HTTP too"
    )
    serving.add_argument(
        "--allow-anonymous", action="store_true", help="need no token to serve other machines, or to run over HTTP"
    )
    serving.add_argument("--workers", metavar="N", help="instead of SKILLHUB_WORKERS, with --transport http")


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Rebuild the index, serve, or both. Raises InvalidSetting."""
    from skillhub_mcp.settings import read_settings

    if args.reindex and args.transport is None:
        from skillhub_mcp.cli.commands.index import rebuild

        return rebuild(options, as_json=args.reindex_json)
    settings, origins = read_settings(os.environ, options)
    log_to_stderr(settings.observability.log_level, settings.observability.log_format)
    for origin in origins:
        if origin.problem is not None:
            log.warning("%s; %s is used", origin.problem, origin.setting.default)
    if args.transport == "http":
        return _over_http(args, settings, options)
    if (args.host, args.port, args.workers) != ("127.0.0.1", _PORT, None):
        log.warning("--host, --port and --workers are for --transport http: this serves over stdio")
    server, _ = _made(settings, reindex=args.reindex)
    if sys.stdin.isatty():
        print(
            "Serving MCP over stdio, for a client to talk to. To look around yourself: skillhub demo", file=sys.stderr
        )
    server.run(transport="stdio", show_banner=False)
    return EXIT_OK


def _over_http(args: argparse.Namespace, settings: Settings, options: Mapping[str, str]) -> int:
    from skillhub_mcp.bootstrap import http_options, make_metrics

    metrics = make_metrics(settings)
    # Before anything is begun: this refuses what would let in more than was said.
    http = http_options(settings, host=args.host, port=args.port, metrics=metrics)
    if 0 < len(settings.http.token) < _GOOD_TOKEN:
        log.warning("SKILLHUB_TOKEN is short enough to be guessed: `skillhub token new` makes one that is not")
    server, hub = _made(settings, reindex=args.reindex, over_http=True, metrics=metrics)
    if settings.http.workers > 1:
        from tempfile import TemporaryDirectory

        from skillhub_mcp.server.http.workers import serve_by_workers

        with (
            TemporaryDirectory(prefix="skillhub-metrics-")
            if settings.observability.metrics
            else nullcontext("") as shared
        ):
            worker = _Worker(dict(options), args.host, args.port, secrets.token_bytes(32), shared)
            return EXIT_OK if serve_by_workers(worker, http, settings.http.workers) else EXIT_FAILED
    from skillhub_mcp.server.http.app import serve_http

    serve_http(server, hub, http)
    return EXIT_OK


def _made(
    settings: Settings, *, reindex: bool, over_http: bool = False, metrics: Prometheus | None = None
) -> tuple[FastMCP, SkillHub]:
    """Return the server and its hub, neither of them begun, and say what a person should know of them."""
    with _loading():
        from skillhub_mcp.bootstrap import make_hub, make_observer, server_options
        from skillhub_mcp.index.sync import SyncDepth
        from skillhub_mcp.server.app import make_server

        hub = make_hub(settings, observer=make_observer(settings, serving=True, metrics=metrics))
        chosen = server_options(settings, hub, over_http=over_http)
    if reindex:
        hub.refresh(SyncDepth.REBUILD)
    if settings.execution.enable_run and not chosen.enable_run:
        log.warning("run_skill_command is not offered over HTTP without --enable-run-over-http")
    try:
        hub.access.now()
    except PolicyUnreadable as error:
        # The hub stays up to say so to whoever calls: what it cannot understand it does not widen.
        log.warning("%s (%s): nothing is served until it is mended", error.message, error.path)
    return make_server(hub, chosen), hub


@contextmanager
def _loading() -> Iterator[None]:
    """Look for no garbage meanwhile: a thousand modules are loaded and stay, and looking takes a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        # Nor are they looked through ever again.
        gc.freeze()
        gc.enable()


@dataclass(frozen=True, slots=True)
class _Worker:
    """What one of several processes is to serve. It is made here and travels there, where the server is made."""

    options: Mapping[str, str]
    host: str
    port: int
    state_key: bytes = field(repr=False)
    shared_metrics: str

    def __call__(self) -> GracefulServer:
        from skillhub_mcp.bootstrap import http_options, make_hub, make_metrics, make_observer, server_options
        from skillhub_mcp.server.app import make_server
        from skillhub_mcp.server.http.app import make_http_app, make_uvicorn
        from skillhub_mcp.settings import read_settings

        settings, _ = read_settings(os.environ, self.options)
        log_to_stderr(settings.observability.log_level, settings.observability.log_format)
        metrics = make_metrics(settings, shared=self.shared_metrics)
        http = http_options(settings, host=self.host, port=self.port, metrics=metrics)
        hub = make_hub(settings, observer=make_observer(settings, serving=True, metrics=metrics))
        chosen = server_options(settings, hub, over_http=True, state_key=self.state_key)
        return make_uvicorn(make_http_app(make_server(hub, chosen), hub, http), http)


def _port(written: str) -> int:
    try:
        port = int(written)
    except ValueError:
        port = -1
    if not 0 <= port <= _HIGHEST_PORT:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 65535")
    return port
