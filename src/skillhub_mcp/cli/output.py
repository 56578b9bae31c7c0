"""What does a person or a script see? stdout carries the answer, stderr all else; errors look the same everywhere."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillhub_mcp.errors import SkillHubError
    from skillhub_mcp.search.indexing import Progress

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 3
EXIT_INTERRUPTED = 130

# These say at INFO what each request was; our own log says what matters.
_QUIET_LIBRARIES = ("mcp", "fastmcp", "uvicorn", "httpx", "httpx2", "filelock", "watchfiles", "openai", "google_genai")


def print_json(value: object) -> None:
    """Print `value` as indented JSON on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_error(error: SkillHubError, *, as_json: bool) -> None:
    """Print `error` on stderr: a line, and a hint after a blank line; with `as_json`, an object."""
    if as_json:
        failure = {"code": error.code, "message": error.message, **error.facts, "hint": error.hint}
        print(json.dumps({"error": failure}, ensure_ascii=False), file=sys.stderr)
        return
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"\nhint: {error.hint}", file=sys.stderr)


def log_to_stderr(level: str) -> None:
    """Send the program's log to stderr: a stdio server's stdout belongs to the protocol."""
    logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    if level != "DEBUG":
        for name in _QUIET_LIBRARIES:
            logging.getLogger(name).setLevel(logging.WARNING)
        # It logs every failed call with a traceback, expected or not; server.boundary logs the unexpected ones.
        logging.getLogger("fastmcp.server.server").setLevel(logging.CRITICAL)


def terminal_progress() -> Progress:
    """Return a progress bar on stderr where that is a terminal, else silence."""
    from skillhub_mcp.search.indexing import no_progress

    if not sys.stderr.isatty():
        return no_progress
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def show(step: str, done: int, total: int) -> None:
        if step not in bars:
            bars[step] = tqdm(total=total, desc=step, unit=" skills", leave=False, file=sys.stderr)
        bar = bars[step]
        bar.update(done - bar.n)
        if done >= total:
            bars.pop(step).close()

    return show
