"""The log on stderr: lines of text, or JSON objects, one per line.

A line of text starts with its level, and text from a skill cannot start a line: line breaks in messages are escaped,
and the lines of a traceback are indented.
"""

from __future__ import annotations

import json
import logging
import sys
import textwrap
from datetime import datetime, timezone
from typing import Any

from skillhub_mcp.cli.console import hide_progress
from skillhub_mcp.sanitize import in_line, on_terminal

# Attributes of every record; all others were passed as `extra`.
_OF_EVERY_RECORD = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"))


def log_to_stderr(level: str, form: str = "text") -> None:
    """Send the program's log to stderr, as `text` or `json`: a stdio server's stdout belongs to the protocol.

    Libraries log from WARNING on whatever `level` is: below it, several log requests and responses. If the surrounding
    program has configured logging, nothing is changed.
    """
    root = logging.getLogger()
    if root.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_beside_progress)
    handler.setFormatter(_AsJson() if form == "json" else _AsText("%(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel("ERROR" if level == "ERROR" else "WARNING")
    logging.getLogger("skillhub_mcp").setLevel(level)
    # It logs every failed call with a traceback, expected or not; ErrorHandlingMiddleware logs the unexpected ones.
    logging.getLogger("fastmcp.server.server").setLevel(logging.CRITICAL)


def _beside_progress(_: logging.LogRecord) -> bool:
    hide_progress()
    return True


class _AsText(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return on_terminal(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        facts = (f" {name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in _facts(record))
        return in_line("".join((super().formatMessage(record), *facts)))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return textwrap.indent(super().formatException(ei), "  ")


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        written: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **dict(_facts(record)),
        }
        if record.exc_info:
            written["exception"] = self.formatException(record.exc_info)
        # ASCII only, so that characters that control a terminal or end a line are escaped.
        return json.dumps(written, default=str)


def _facts(record: logging.LogRecord) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in vars(record).items() if name not in _OF_EVERY_RECORD]
