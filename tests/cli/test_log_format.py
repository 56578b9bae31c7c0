"""The log on stderr as text and as JSON: one line per record, and no messages of libraries below WARNING."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timezone
from typing import Any

import pytest

HOSTILE = "a\nINFO skillhub_mcp.audit: forged\r\x1b[2J\x85\u2028\u202e\ud800ü"

PROGRAM = """
import logging, sys
from skillhub_mcp.cli.log_format import log_to_stderr
from skillhub_mcp.cli.output import prepare_streams
prepare_streams()
log_to_stderr(*sys.argv[1:])
"""


def logged(body: str, *arguments: str) -> list[str]:
    """What a program logs to stderr whose log is set up with those arguments, line by line."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + body, *arguments],
        env={"PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == b""
    return done.stderr.decode().split("\n")[:-1]


def objects(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_a_line_of_json_has_its_moment_level_logger_message_and_facts() -> None:
    before = datetime.now(timezone.utc)
    body = 'logging.getLogger("skillhub_mcp.x").warning("%s is %d", "one", 1, extra={"skill": "pdf", "part": 2})'
    (line,) = objects(logged(body, "INFO", "json"))
    at = datetime.fromisoformat(line.pop("at"))
    assert before <= at <= datetime.now(timezone.utc)
    assert at.tzinfo is not None
    assert line == {"level": "WARNING", "logger": "skillhub_mcp.x", "message": "one is 1", "skill": "pdf", "part": 2}


def test_an_exception_is_one_field_of_its_line() -> None:
    body = (
        "try:\n    raise ValueError('raised')\n"
        "except ValueError:\n    logging.getLogger('skillhub_mcp').exception('It failed')"
    )
    (line,) = objects(logged(body, "INFO", "json"))
    assert line["message"] == "It failed"
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert line["exception"].endswith("\nValueError: raised")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_record_cannot_forge_a_line_or_control_a_terminal(form: str) -> None:
    # The error's own words are the last line of a traceback.
    body = (
        f"hostile = {HOSTILE!r}\n"
        "log = logging.getLogger('skillhub_mcp')\n"
        "log.warning('found %s', hostile, extra={'skill': hostile})\n"
        "try:\n    raise ValueError(hostile)\n"
        "except ValueError:\n    log.exception('failed')\n"
    )
    lines = logged(body, "INFO", form)
    assert not set("\r\x1b\x85\u202e\ud800") & set("".join(lines))
    begun = [line for line in lines if not line.startswith("  ")]
    if form == "json":
        found, failed = objects(lines)
        assert (found["message"], found["skill"]) == (f"found {HOSTILE}", HOSTILE)
        assert HOSTILE in failed["exception"]
    else:
        assert [line.partition(":")[0] for line in begun] == ["WARNING skillhub_mcp", "ERROR skillhub_mcp"]
        assert "\u2028" not in begun[0]


def test_a_line_of_text_ends_with_the_facts() -> None:
    body = "logging.getLogger('skillhub_mcp.audit').info('load', extra={'skill': 'schön', 'part': 2})"
    assert logged(body, "INFO", "text") == ['INFO skillhub_mcp.audit: load skill="schön" part=2']


@pytest.mark.parametrize(("level", "heard"), [("INFO", 3), ("ERROR", 1)])
def test_the_level_applies_to_our_own_log(level: str, heard: int) -> None:
    body = "for say in (10, 20, 30, 40):\n    logging.getLogger('skillhub_mcp.x').log(say, 'x')"
    assert len(logged(body, level)) == heard


def test_libraries_log_warnings_only() -> None:
    body = "for say in ('debug', 'info', 'warning'):\n    getattr(logging.getLogger('mcp.server'), say)(say)"
    assert logged(body, "DEBUG") == ["WARNING mcp.server: warning"]
