"""`skillhub`: serve the skills over MCP (seed 002 §7, DECISIONS 5)."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Mapping

from skillhub_mcp.cli.output import EXIT_OK, log_to_stderr
from skillhub_mcp.errors import PolicyUnreadable

log = logging.getLogger("skillhub_mcp")

_HIGHEST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what may be typed without a command."""
    serving = parser.add_argument_group("serving over MCP")
    serving.add_argument("--transport", choices=("stdio", "http"), help="how clients connect (default: stdio)")
    serving.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    serving.add_argument(
        "--port", type=_port, default=8000, help="port to listen on; 0 takes a free one (default: 8000)"
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


def run(args: argparse.Namespace, options: Mapping[str, str]) -> int:
    """Rebuild the index, serve, or both. Raises InvalidSetting."""
    from skillhub_mcp.settings import read_settings

    if args.reindex and args.transport is None:
        from skillhub_mcp.cli.commands.index import rebuild

        return rebuild(options, as_json=args.reindex_json)
    settings, origins = read_settings(os.environ, options)
    log_to_stderr(settings.log_level)
    for origin in origins:
        if origin.problem is not None:
            log.warning("%s; %s is used", origin.problem, origin.setting.default)
    from skillhub_mcp.bootstrap import make_hub, server_options
    from skillhub_mcp.search.looking import Depth
    from skillhub_mcp.server.app import make_server

    hub = make_hub(settings)
    if args.reindex:
        hub.refresh(Depth.REBUILD)
    over_http = args.transport == "http"
    chosen = server_options(settings, hub, over_http=over_http)
    if settings.enable_run and not chosen.enable_run:
        log.warning("run_skill_command is not offered over HTTP without --enable-run-over-http")
    try:
        hub.access.now()
    except PolicyUnreadable as error:
        # The hub stays up to say so to whoever calls: what it cannot understand it does not widen.
        log.warning("%s (%s): nothing is served until it is mended", error.message, error.path)
    server = make_server(hub, chosen)
    if over_http:
        from skillhub_mcp.server.http import HttpOptions, serve_http

        serve_http(
            server,
            hub,
            HttpOptions(args.host, args.port, settings.allowed_hosts, settings.allowed_origins),
        )
        return EXIT_OK
    if sys.stdin.isatty():
        print(
            "Serving MCP over stdio, for a client to talk to. To look around yourself: skillhub demo", file=sys.stderr
        )
    server.run(transport="stdio", show_banner=False)
    return EXIT_OK


def _port(written: str) -> int:
    try:
        port = int(written)
    except ValueError:
        port = -1
    if not 0 <= port <= _HIGHEST_PORT:
        raise argparse.ArgumentTypeError("must be a whole number from 0 to 65535")
    return port
